#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A capture and the same capture as a stream with epochs give the same results.

usage: streams.py SONDE MAKE_STREAM

Each epoch describes threads, sockets, files and so on again, which must not change a result.  A
piece that begins with an epoch is a capture, too.  Streams come from a pipe.  Prints TAP.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

SONDE, MAKE_STREAM = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
GOOD = pathlib.Path(__file__).resolve().parent.parent / "data" / "good"
CAPTURES = ("flush", "tasks", "every-kind", "small")
SELECTS = (
    "SELECT tid, pid, comm, start, end FROM threads ORDER BY tid, start",
    "SELECT * FROM intervals ORDER BY start, tid",
    "SELECT count(*) FROM messages",
    "SELECT operation, service, start, end FROM spans ORDER BY start, operation",
)


def run(command, stream):
    """Output and exit code of a command that reads from a pipe."""
    with subprocess.Popen(["cat", stream], stdout=subprocess.PIPE) as cat:
        done = subprocess.run([SONDE, *command[:1], "-", *command[1:]], stdin=cat.stdout, capture_output=True,
                              text=True, timeout=60)
    return done.stdout, done.stderr, done.returncode


def make(directory, name, *args):
    stream = pathlib.Path(directory) / f"{name}.sonde"
    subprocess.run([MAKE_STREAM, GOOD / f"{name}.sonde", stream, *map(str, args)], check=True)
    return stream


def results_are_the_same(name):
    with tempfile.TemporaryDirectory() as directory:
        for epochs in (1, 3, 10):
            stream = make(directory, name, epochs)
            for command in [["explain", "--json"], ["requests", "--json"], *(["query", s] for s in SELECTS)]:
                want, got = run(command, GOOD / f"{name}.sonde"), run(command, stream)
                assert want[2] == 0 or command[0] != "query", want[1]
                assert want == got, f"{epochs} epochs, {' '.join(command)}:\n{want}\n{got}"


def epochs_and_notes_are_shown(name):
    with tempfile.TemporaryDirectory() as directory:
        stream = make(directory, name, 3)
        info = json.loads(run(["info", "--json"], stream)[0])
        assert "the recorder warned: a note" in info["warnings"], info["warnings"]
        epochs = [json.loads(line) for line in run(["dump", "--json", "--kind=epoch"], stream)[0].splitlines()]
        assert [epoch["number"] for epoch in epochs] == list(range(1, len(epochs) + 1)), epochs
        assert len(epochs) in (2, 3), epochs


def a_piece_is_a_capture(name):
    """The last epochs have the records of that time, with the names of their threads and strings."""
    with tempfile.TemporaryDirectory() as directory:
        whole = [json.loads(line) for line in run(["dump", "--json"], make(directory, name, 4))[0].splitlines()]
        starts = [r["time"] for r in whole if r["kind"] == "epoch"]
        for skipped in range(1, len(starts) + 1):
            output, errors, code = run(["dump", "--json"], make(directory, name, 4, skipped))
            piece = [json.loads(line) for line in output.splitlines()]
            assert code == 0 and not errors, errors
            first = next(i for i, r in enumerate(whole) if r["kind"] == "epoch" and r["number"] == skipped)
            kept = [r for r in whole[first:] if r["kind"] != "stack"]
            assert [r for r in piece if r["kind"] != "stack"] == kept, f"{skipped} epochs skipped"


failed = 0
TESTS = [(test, name) for test in (results_are_the_same, epochs_and_notes_are_shown, a_piece_is_a_capture)
         for name in CAPTURES]
print(f"1..{len(TESTS)}")
for number, (test, name) in enumerate(TESTS, 1):
    try:
        test(name)
        print(f"ok {number} - {test.__name__} {name}", flush=True)
    except AssertionError as problem:
        failed += 1
        print("".join(f"# {line}\n" for line in str(problem).splitlines()), end="")
        print(f"not ok {number} - {test.__name__} {name}", flush=True)
sys.exit(bool(failed))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings to a pipe: complete with a fast reader, honest about losses with a slow one."""
import contextlib
import json
import subprocess
import sys
import threading
import time

from compare import check_calls
from harness import SCRATCH, SONDE, TIMEOUT, Capture, Truth, equal, main, require, test, workload

# Two processes that switch for a number of rounds; each round is about 200 bytes of records.
PING_PONG = """
import os, sys
there, back = os.pipe(), os.pipe()
rounds = int(sys.argv[1])
if os.fork():
    for _ in range(rounds):
        os.write(there[1], b"x")
        os.read(back[0], 1)
else:
    for _ in range(rounds):
        os.read(there[0], 1)
        os.write(back[1], b"x")
"""
ROUNDS = 200_003  # about twice what the queue of the recorder holds
QUEUE = 17 << 20  # bytes that the recorder and the pipe keep for a slow reader


@contextlib.contextmanager
def stream(*command, options=()):
    """A recorder that writes a stream to a pipe; its command writes to stderr."""
    process = subprocess.Popen([SONDE, "record", "-q", "-o", "-", *options, "--", *command], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def save(process, name="stream.sonde"):
    """Read the rest of a stream to a file; returns its path and stderr of the recorder."""
    words = []
    reader = threading.Thread(target=lambda: words.append(process.stderr.read().decode()))
    reader.start()
    path = SCRATCH / name
    with path.open("wb") as file:
        while piece := process.stdout.read1(1 << 20):
            file.write(piece)
    equal(process.wait(TIMEOUT), 0, "exit code of the recorder")
    reader.join()
    return path, words[0]


@test
def a_stream_that_is_read_in_time_is_complete():
    with stream(*workload("sleep", "nanosleep", 101, 3)) as process:
        path, words = save(process)
    capture = Capture(path).check()
    equal(capture.info["lost"], 0, "lost records")
    check_calls(capture, Truth(words).track("sleep"), "T")


@test
def commands_read_a_stream_from_a_pipe():
    with stream(*workload("sleep", "nanosleep", 11, 3)) as process:
        done = subprocess.run([SONDE, "info", "--json", "-"], stdin=process.stdout, capture_output=True, text=True,
                              timeout=TIMEOUT)
    info = json.loads(done.stdout)
    require(info["complete"] and info["records"], f"{done.stdout}{done.stderr}")


@test
def records_that_a_slow_reader_misses_are_counted_once():
    """The reader stalls while the command produces more than the recorder keeps."""
    stalled = SCRATCH / "stalled"
    command = f"{sys.executable} -c '{PING_PONG}' {ROUNDS}; touch {stalled}; sleep 1"
    with stream("sh", "-c", command) as process:
        end = time.monotonic() + TIMEOUT
        while not stalled.exists():
            require(time.monotonic() < end, "the command does not end")
            time.sleep(0.1)
        path, _ = save(process)
    capture = Capture(path)  # all stages agree
    info = capture.info
    dropped = info["counters"]["stream_dropped"]
    require(dropped > 0, f"nothing was dropped of {path.stat().st_size} bytes")
    require(path.stat().st_size < 2 * QUEUE, f"the queue is not bounded: {path.stat().st_size} bytes")
    kernel = info["counters"]["kernel_lost"]
    equal(info["lost"], dropped + kernel, "lost records in all LOSS records")
    equal({r["cpu"] for r in capture.kind("loss")}, set(range(info["cpus"])), "CPUs with a loss")
    require(capture.kind("epoch"), "no epoch after the loss")
    # what came after the loss has names again; records of the first moments can refer to the epoch before
    last = capture.kind("epoch")[-1]["time"] + 100_000_000
    nameless = [r for r in capture.kind("interval") if r["start"] > last and not r.get("comm")]
    require(not nameless, f"threads without a name after the epoch: {nameless[:3]}")


@test
def a_reader_that_ends_ends_the_recording():
    with stream("sleep", "60") as process:
        require(process.stdout.read(64), "no stream")
        begin = time.monotonic()
        process.stdout.close()
        equal(process.wait(TIMEOUT), 1, "exit code of the recorder")
        took = time.monotonic() - begin
        require(took < 5, f"the recorder ended after {took:.1f} s")
        words = process.stderr.read().decode()
        process.stderr.close()
    require("closed the stream" in words or "reader of the stream has ended" in words, words)


@test
def a_full_disk_ends_a_stream_with_a_message():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([SONDE, "record", "-q", "-o", "-", "--", "sleep", "30"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
    equal(done.returncode, 1, "exit code")
    require("cannot write the stream: No space left on device" in done.stderr, done.stderr)


if __name__ == "__main__":
    main()

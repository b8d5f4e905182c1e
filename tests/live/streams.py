#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings to a pipe: complete with a fast reader, honest about losses with a slow one."""
import contextlib
import json
import subprocess
import threading
import time

import accounted
from compare import check_calls
from harness import (SCRATCH, SONDE, TIMEOUT, Capture, Truth, equal, main, need_feature, require, run, test, wait_until,
                     workload)

STORM = 1_000_003  # system calls; their records are about twice what the queue of the recorder holds
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


def dump(path, kind):
    return [json.loads(line) for line in run(SONDE, "dump", "--json", f"--kind={kind}", path).stdout.splitlines()]


@test
def records_that_a_slow_reader_misses_are_counted_once():
    """The reader stalls while the command produces more than the recorder keeps."""
    need_feature("syscalls")
    stalled = SCRATCH / "stalled"
    storm, sleeps = (" ".join(workload(*words)) for words in (("calls", "storm", STORM), ("sleep", "nanosleep", 307, 5)))
    command = f"{storm} >/dev/null; touch {stalled}; {sleeps} >/dev/null"  # the start of the last program is not in the stream
    with stream("sh", "-c", command, options=["--syscalls=getppid"]) as process:
        wait_until(stalled.exists, "the storm ends", TIMEOUT)
        path, _ = save(process)
    info = json.loads(run(SONDE, "info", "--json", path).stdout)
    accounted.check(info)  # all stages agree
    dropped = info["counters"]["stream_dropped"]
    require(dropped > 0, f"nothing was dropped of {path.stat().st_size} bytes")
    require(path.stat().st_size < 2 * QUEUE, f"the queue is not bounded: {path.stat().st_size} bytes")
    equal(info["lost"], dropped + info["counters"]["kernel_lost"], "lost records in all LOSS records")
    equal({r["cpu"] for r in dump(path, "loss")}, set(range(info["cpus"])), "CPUs with a loss")
    epochs = dump(path, "epoch")
    require(epochs, "no epoch after the loss")
    # what came after the loss has names again; records of the first moments can refer to the epoch before
    last = epochs[-1]["time"] + 100_000_000
    after = [r for r in dump(path, "interval") if r["start"] > last]
    require(any(r.get("comm") == "sleep" for r in after), f"only {len(after)} intervals after the epoch")
    nameless = [r for r in after if not r.get("comm")]
    require(not nameless, f"threads without a name after the epoch: {nameless[:3]}")


@test
def a_reader_that_ends_ends_the_recording():
    with stream("sleep", "60") as process:
        require(process.stdout.read(64), "no stream")
        begin = time.monotonic()
        process.stdout.close()
        equal(process.wait(TIMEOUT), 1, "exit code of the recorder")
        took = time.monotonic() - begin
        require(took < 30, f"the recorder ended after {took:.1f} s")
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

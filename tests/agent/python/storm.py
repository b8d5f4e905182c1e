#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes and threads that come and go: storm.py FILE; run by the SDK's Python.

Children that are forked, executed, of a pool, and killed in the middle; threads
that live for one span.  Spans that ended are written to FILE, see check.py.
"""
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

from opentelemetry.sdk.trace import TracerProvider

from noted import Notes

FORKS = 61
THREADS = 211
POOL = 3
JOBS = 31
EXECUTED = 3
NOTES = Notes(sys.argv[1], TracerProvider().get_tracer("storm"), timed=False)


def one(name):
    with NOTES.span(name), NOTES.span("inner"):
        pass


def fork(number):
    """Every third is killed in the middle of a span, of which nothing is written."""
    child = os.fork()
    if not child:
        one("forked")
        if number % 3 == 0:
            with NOTES.tracer.start_as_current_span("killed"):
                os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == (-signal.SIGKILL if number % 3 == 0 else 0), status


def job(number):
    one(f"job {number}")
    return number


def main():
    for i in range(FORKS):
        fork(i)
    threads = [threading.Thread(target=one, args=("thread",)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    fork(FORKS)  # while threads come and go
    for thread in threads:
        thread.join()
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(POOL) as pool:
            assert pool.map(job, range(JOBS)) == list(range(JOBS))
            pool.close()
            pool.join()
    for _ in range(EXECUTED):
        subprocess.run([sys.executable, __file__, sys.argv[1], "executed"], check=True)
        subprocess.run(["true"], check=True)


if __name__ == "__main__":
    if sys.argv[2:]:
        one("executed")
    else:
        main()

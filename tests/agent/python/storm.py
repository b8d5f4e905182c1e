#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Short-lived processes and threads: storm.py FILE; run by the SDK's Python.

Children that are forked, executed, in a pool, and killed in the middle of a span; threads
that live for one span.  The truth about ended spans is written to FILE, see check.py.
"""
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

from opentelemetry.sdk.trace import TracerProvider

from truth import Truth

FORKS = 61
THREADS = 211
POOL = 3
JOBS = 31
EXECUTED = 3
TRUTH = Truth(sys.argv[1], TracerProvider().get_tracer("storm"), timed=False)


def one(name):
    with TRUTH.span(name), TRUTH.span("inner"):
        pass


def fork(number):
    """Every third child is killed in the middle of a span, which is not in the truth."""
    child = os.fork()
    if not child:
        one("forked")
        if number % 3 == 0:
            with TRUTH.tracer.start_as_current_span("killed"):
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
    fork(FORKS)  # while threads start and exit
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

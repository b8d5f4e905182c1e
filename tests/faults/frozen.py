# SPDX-License-Identifier: Apache-2.0
"""A service is stopped by a signal for 150 ms now and then, as by a debugger or a snapshot."""
import os
import signal
import threading
import time

TRUTH = r"stopped|SIGSTOP|SIGCONT|signal"
PARTLY = r"\bqueue"
HELD = 0.15


def start(lab):
    return lab.service("archive", lab.compile("archive.c"), lab.port(), "2", port=lab.port())


def client(lab):
    ended = threading.Event()
    thread = threading.Thread(target=freeze, args=(lab.pids[-1], ended))
    thread.start()
    try:
        return lab.load(lab.port(), "/", connections=3, pause=25)
    finally:
        ended.set()
        thread.join()


def freeze(pid, ended):
    while not ended.wait(0.35):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(HELD)
        os.kill(pid, signal.SIGCONT)

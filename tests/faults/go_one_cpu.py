# SPDX-License-Identifier: Apache-2.0
"""A Go service with GOMAXPROCS=1 computes in six goroutines now and then; requests wait for their turn on its one thread.

The host has idle CPUs, so no thread waits for one: the thread that would serve the request runs other goroutines.
"""
import runtimes

NEEDS = ["go"]
TRUTH = r"statements.*\bruns\b"
PARTLY = r"goroutine|Go runtime|(?<!run-)queue|unread|not read"


def start(lab):
    port = lab.port()
    return lab.service("statements", runtimes.go(lab, "statements.go"), port, port=port, env={"GOMAXPROCS": "1"})


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=40)

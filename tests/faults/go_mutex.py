# SPDX-License-Identifier: Apache-2.0
"""A goroutine sleeps while it holds a mutex that all requests take.

The kernel shows the threads of the runtime, not goroutines or their locks, so the right explanation has
no lead, but what is missing.
"""
import runtimes

NEEDS = ["go"]
TRUTH = r"goroutine|Go runtime|cause unknown"


def start(lab):
    port = lab.port()
    return lab.service("cart", runtimes.go(lab, "cart.go"), port, port=port)


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=60)

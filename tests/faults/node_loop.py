# SPDX-License-Identifier: Apache-2.0
"""A request to a Node service computes for long, and all others wait for the event loop."""
import services

NEEDS = ["node"]
TRUTH = r"(node|checkout).* runs"
PARTLY = r"runs"


def start(lab):
    port = lab.port()
    return lab.service("checkout", "node", services.SOURCES / "checkout.js", port, port=port)


def client(lab):
    return lab.load(lab.port(), "/sign", "/item", "/item", "/item", connections=8, pause=200)

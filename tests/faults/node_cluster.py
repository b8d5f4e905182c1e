# SPDX-License-Identifier: Apache-2.0
"""A request computes for long in one of two processes of a Node cluster."""
import services

NEEDS = ["node"]
TRUTH = r"(node|cluster).* runs"
PARTLY = r"runs"


def start(lab):
    port = lab.port()
    return lab.service("cluster", "node", services.SOURCES / "cluster.js", port, port=port)


def client(lab):
    return lab.load(lab.port(), "/sign", "/item", "/item", "/item", connections=8, pause=200)

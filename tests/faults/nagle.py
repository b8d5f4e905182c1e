# SPDX-License-Identifier: Apache-2.0
"""A service sends a request in two writes; Nagle's algorithm holds the second until a delayed ACK."""
TRUTH = r"Nagle|delayed ACK|send buffer"
PARTLY = r"\bquote\b|network"


def start(lab):
    backend = lab.port("backend")
    lab.service("backend", lab.compile("quote.c"), backend, "1", port=backend)
    return lab.service("search", lab.compile("search.c"), lab.port(), backend, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=2, pause=40)

# SPDX-License-Identifier: Apache-2.0
"""A proxy between two services holds each request back for 50 ms."""
# The proxy waits for its own timeout, not for the network.
TRUTH = r"relay.*(sleeps|timer|timeout)"
PARTLY = r"relay"


def start(lab):
    backend, relay = lab.port("backend"), lab.port("relay")
    lab.service("backend", lab.compile("quote.c"), backend, "1", port=backend)
    lab.service("relay", lab.compile("relay.c"), relay, backend, "50", port=relay)
    return lab.service("front", lab.compile("front.c"), lab.port(), relay, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=3, pause=40)

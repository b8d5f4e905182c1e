# SPDX-License-Identifier: Apache-2.0
"""A Go service asks three services at the same time, and waits for the slowest of them, which sleeps at times."""
import runtimes

NEEDS = ["go"]
TRUTH = r"inventory.*\bsleeps\b"
PARTLY = r"inventory"


def start(lab):
    archive, quote, stock, port = lab.port("archive"), lab.port("quote"), lab.port("stock"), lab.port()
    lab.service("archive", lab.compile("archive.c"), archive, "6", port=archive)
    lab.service("quote", lab.compile("quote.c"), quote, "1", port=quote)
    lab.service("inventory", lab.python("inventory.py"), stock, port=stock)
    return lab.service("offers", runtimes.go(lab, "offers.go"), port, archive, quote, stock, port=port)


def client(lab):
    return lab.load(lab.port(), "/", connections=3, pause=40)

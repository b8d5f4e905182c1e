# SPDX-License-Identifier: Apache-2.0
"""Connections wait to be accepted by a server that serves one at a time."""
TRUTH = r"(?=.*(accept queue|accept|queue))(?=.*\bsleeps\b)"
PARTLY = r"queue|accept"


def start(lab):
    return lab.service("tickets", lab.compile("tickets.c"), lab.port(), port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=6, pause=50, connect=True)

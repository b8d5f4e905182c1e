# SPDX-License-Identifier: Apache-2.0
"""A task of a FastAPI service calls a blocking function now and then, which stops the event loop."""
import runtimes
import services

TRUTH = r"((?<!run-)queue|unread|not read|before .*reads?\b).*sleeps|sleeps.*((?<!run-)queue|unread|not read|before .*reads?\b)"
PARTLY = r"sleeps"


def start(lab):
    port = lab.port()
    return lab.service("catalogue", runtimes.python(lab), services.SOURCES / "catalogue.py", port, port=port)


def client(lab):
    return lab.load(lab.port(), "/item/7", connections=6, pause=80)

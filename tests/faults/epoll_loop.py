# SPDX-License-Identifier: Apache-2.0
"""An epoll server sleeps for 100 ms now and then; requests that arrive meanwhile wait in their sockets."""
TRUTH = r"((?<!run-)queue|unread|not read|before .*reads?\b).*sleeps|sleeps.*((?<!run-)queue|unread|not read|before .*reads?\b)"
PARTLY = r"sleeps"


def start(lab):
    return lab.service("prices", lab.compile("epoll_loop.c"), lab.port(), port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/price", connections=6, pause=50)

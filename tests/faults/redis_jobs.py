# SPDX-License-Identifier: Apache-2.0
"""Requests wait in BLPOP of redis for the result of a job; the worker that executes the jobs computes for long at times."""
NEEDS = ["redis-server", "python3:redis"]
# redis only passes on: the worker computes, for this request or for one before it.
TRUTH = r"painter.*\bruns\b"
PARTLY = r"painter"
OF_ENTRY = True  # the worker's wait for its next job is a request to redis, too


def start(lab):
    store, port = lab.redis(), lab.port()
    lab.service("painter", lab.python("painter.py"), store)
    return lab.service("cards", lab.python("cards.py"), port, store, port=port)


def client(lab):
    return lab.load(lab.port(), "/", connections=2, pause=60)

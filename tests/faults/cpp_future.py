# SPDX-License-Identifier: Apache-2.0
"""The destructor of a std::future waits for a background task, which sleeps before it tries to connect again."""
# The request waits for the thread of the task, not for the collector: nothing listens there, so connect() fails at once.
TRUTH = r"audit.*\bsleeps\b"
PARTLY = r"audit|\bsleeps\b|refused"


def start(lab):
    port = lab.port()
    return lab.service("profile", lab.compile("profile.cc"), port, lab.port("collector"), port=port)


def client(lab):
    return lab.load(lab.port(), "/", connections=3, pause=30)

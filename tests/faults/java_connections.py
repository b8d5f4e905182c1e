# SPDX-License-Identifier: Apache-2.0
"""A job of a Java service takes all connections of the pool, and keeps them while it computes; requests wait for one."""
import runtimes

NEEDS = ["java", "javac"]
# The store is fast: the thread of the report computes, and the requests wait until it gives a connection back.
TRUTH = r"report.*\bruns\b"
PARTLY = r"report|pool|\block\b|condition|(?<!run-)queue"


def start(lab):
    store = lab.port("store")
    lab.service("archive", lab.compile("archive.c"), store, "2", port=store)
    return runtimes.java(lab, "Bookings.java", lab.port(), arguments=[store])


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=50)

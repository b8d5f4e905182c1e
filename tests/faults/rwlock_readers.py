# SPDX-License-Identifier: Apache-2.0
"""Writers wait for a read-write lock that several readers hold for long, one overlapping the other."""
TRUTH = r"(?=.*\b(rwlock|read-write lock|lock)\b)(?=.*\b(sleeps|readers?)\b)"
PARTLY = r"lock"


def start(lab):
    return lab.service("pages", lab.compile("pages.c"), lab.port(), port=lab.port())


def client(lab):
    reports = lab.start_load(lab.port(), "/report", connections=3, pause=30)
    return lab.load(lab.port(), "/edit", connections=2, pause=20) + lab.end_load(reports)

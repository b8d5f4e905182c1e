# SPDX-License-Identifier: Apache-2.0
"""A background thread sleeps while it holds a mutex that all requests take."""
TRUTH = r"sleeps.*lock|lock.*sleeps"
PARTLY = r"lock|sleeps"


def start(lab):
    return lab.service("stock", lab.compile("stock.c"), lab.port(), port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/cart", connections=4, pause=20)

# SPDX-License-Identifier: Apache-2.0
"""A regular expression backtracks for long on some requests: the request itself computes."""
TRUTH = r"search.* runs\b"
PARTLY = r"runs\b"


def start(lab):
    port = lab.port()
    return lab.service("search", lab.python("search.py"), port, port=port)


def client(lab):
    return lab.load(lab.port(), "/" + "a" * 21 + "!", "/tea", "/tea", connections=3, pause=150)

# SPDX-License-Identifier: Apache-2.0
"""A service reads from a helper through a pipe; now and then, the helper waits for a device."""
TRUTH = r"renderer.*\bsleeps\b"
PARTLY = r"renderer|pipe"


def start(lab):
    return lab.service("gallery", lab.python("gallery.py"), lab.port(), lab.compile("renderer.c"), port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/cat", connections=2, pause=40)

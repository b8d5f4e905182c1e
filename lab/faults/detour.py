# SPDX-License-Identifier: Apache-2.0
"""Factorials of small numbers take as long as those of large ones."""
import contextlib

import truth

TARGETS = {"factorial": ["factorial"]}
STRENGTHS = (1,)
KIND = "factorial"


def truth_of(app, target):
    return truth.own_code(app, target, "R")


@contextlib.contextmanager
def inject(app, target, strength):
    with app.requesting("small"), app.injected("detour", target, strength):
        yield

# SPDX-License-Identifier: Apache-2.0
"""Python collects garbage in a large heap in each request."""
import truth

TARGETS = {"bank": ["frontend", "users", "contacts"], "bank-sync": ["users"]}
STRENGTHS = (8, 12, 16)  # ms of CPU time, about


def truth_of(app, target):
    """The collector runs, and other requests wait for the GIL meanwhile."""
    return truth.own_code(app, target, "RL")


def inject(app, target, strength):
    return app.injected("collect", target, strength)

# SPDX-License-Identifier: Apache-2.0
"""The thread `janitor` of a service holds a lock most of the time, and each request needs it."""
import truth

TARGETS = {"bank": ["frontend", "users", "contacts", "ledger", "balance", "ledger:balance"],
           "demo": ["front", "contacts", "ledger"]}
STRENGTHS = (20, 30, 50)  # ms at a time


def truth_of(app, target):
    return truth.handler(app, target, "L", r"janitor|^lock")


def inject(app, target, strength):
    return app.injected("lock", target, strength)

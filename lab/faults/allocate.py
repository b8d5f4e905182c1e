# SPDX-License-Identifier: Apache-2.0
"""The handler allocates, fills and frees large blocks again and again."""
import truth

TARGETS = {"bank": ["frontend", "users", "contacts", "ledger", "balance", "ledger:balance"],
           "demo": ["front", "contacts", "ledger"]}
STRENGTHS = {"bank": (8, 12, 16), "demo": (5, 7, 10)}  # ms of CPU time


def truth_of(app, target):
    return truth.own_code(app, target, "R")


def inject(app, target, strength):
    return app.injected("allocate", target, strength)

# SPDX-License-Identifier: Apache-2.0
"""The handler allocates, fills and frees large blocks again and again."""
import truth

TARGETS = {"bank": ["frontend", "users", "contacts", "ledger", "balance", "ledger:balance"],
           "demo": ["front", "contacts", "ledger"]}
STRENGTHS = (10, 15, 25)  # ms of CPU time


def truth_of(app, target):
    return truth.own_code(app, target, "R")


def inject(app, target, strength):
    return app.injected("allocate", target, strength)

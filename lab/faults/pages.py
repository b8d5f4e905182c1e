# SPDX-License-Identifier: Apache-2.0
"""The handler drops pages of memory and touches them again: a storm of page faults."""
import truth

TARGETS = {"bank": ["frontend", "users", "contacts", "ledger", "balance", "ledger:balance"],
           "demo": ["front", "contacts", "ledger"]}
STRENGTHS = (10, 15, 25)  # ms of CPU time


def truth_of(app, target):
    return truth.own_code(app, target, "R")


def inject(app, target, strength):
    return app.injected("pages", target, strength)

# SPDX-License-Identifier: Apache-2.0
"""The handler sleeps."""
import truth

TARGETS = {"bank": ["frontend", "users", "contacts", "ledger", "balance", "ledger:balance"],
           "bank-sync": ["contacts", "balance"], "demo": ["front", "contacts", "ledger"]}
STRENGTHS = (15, 30, 60)  # ms


def truth_of(app, target):
    return truth.own_code(app, target, "T")


def inject(app, target, strength):
    return app.injected("sleep", target, strength)

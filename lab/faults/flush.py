# SPDX-License-Identifier: Apache-2.0
"""The handler flushes lines of a log to disk, one by one."""
import truth

TARGETS = {"bank": ["frontend", "users", "contacts", "ledger", "balance", "ledger:balance"],
           "bank-sync": ["contacts", "balance"], "demo": ["front", "contacts:get", "ledger"]}
STRENGTHS = (40, 60, 90)  # lines


def truth_of(app, target):
    return truth.handler(app, target, "D", r"seen-{service}")


def inject(app, target, strength):
    return app.injected("flush", target, strength)

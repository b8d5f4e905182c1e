# SPDX-License-Identifier: Apache-2.0
"""The auditor of ledger holds a lock while it queries PostgreSQL."""
import truth

TARGETS = {"bank": ["ledger"], "bank-sync": ["ledger"]}
STRENGTHS = (1,)


def truth_of(app, target):
    return truth.handler(app, target, "L", r"auditor|^lock")


def inject(app, target, strength):
    return app.switched("lock")

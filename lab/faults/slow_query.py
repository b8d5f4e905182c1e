# SPDX-License-Identifier: Apache-2.0
"""A service runs a query that cannot use an index."""
from truth import Truth

TARGETS = {"bank": ["users", "contacts", "ledger"], "bank-sync": ["contacts"]}
STRENGTHS = (1,)


def truth_of(app, target):
    return Truth([target], r"SELECT.*", "N", r"postgres")


def inject(app, target, strength):
    return app.injected("slow-query", target, strength)

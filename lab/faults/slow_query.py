# SPDX-License-Identifier: Apache-2.0
"""A service runs a query that cannot use an index."""
from truth import Truth

TARGETS = {"bank": ["users", "contacts", "ledger"], "bank-sync": ["contacts"]}
STRENGTHS = (1,)


def truth_of(app, target):
    """The call waits, while PostgreSQL, which has no spans, runs."""
    return Truth([(target, r"SELECT.*", "N"), ("postgres", r".*", "R")], r"postgres")


def inject(app, target, strength):
    return app.injected("slow-query", target, strength)

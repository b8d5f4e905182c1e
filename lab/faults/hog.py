# SPDX-License-Identifier: Apache-2.0
"""Busy programs run on the CPU of a service; other services on that CPU wait as well."""
from truth import Truth

TARGETS = {"bank": ["contacts", "ledger"], "bank-sync": ["users", "balance"], "demo": ["ledger", "contacts"]}
STRENGTHS = (1, 2)  # programs of two threads


def truth_of(app, target):
    together = {"ledger": ["ledger", "balance"], "balance": ["ledger", "balance"]}
    services = together.get(target, [target]) if app.startswith("bank") else [target]
    return Truth([(service, r".*", "C") for service in services], r"\bhog\b")


def inject(app, target, strength):
    return app.hogged(target, strength)

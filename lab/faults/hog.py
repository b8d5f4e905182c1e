# SPDX-License-Identifier: Apache-2.0
"""Busy programs run on the CPU of a service; all services that can run on that CPU wait as well."""
import truth

TARGETS = {"bank": ["contacts", "ledger"], "bank-sync": ["users", "balance"], "demo": ["ledger", "contacts"]}
STRENGTHS = (1, 2)  # programs of two threads
# Services that can run on the CPU of each target; applications.py pins some.
BESIDE = {("bank", "contacts"): ["frontend", "users"], ("bank", "ledger"): ["balance", "frontend", "users"],
          ("bank-sync", "users"): ["frontend", "contacts"], ("bank-sync", "balance"): ["ledger", "frontend", "contacts"],
          ("demo", "contacts"): ["front"], ("demo", "ledger"): ["front"]}


def truth_of(app, target):
    found = truth.handler(app, target, "C", r"\bhog\b")
    found.also = truth.all_of([target, *BESIDE[app, target]], "C")
    return found


def inject(app, target, strength):
    return app.hogged(target, strength)

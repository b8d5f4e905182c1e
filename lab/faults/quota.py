# SPDX-License-Identifier: Apache-2.0
"""A control group limits the CPU time of a service to what it uses on average, or to less."""
import truth

TARGETS = {"bank": ["frontend", "users", "contacts", "ledger", "balance"], "bank-sync": ["users", "contacts"],
           "demo": ["front", "contacts", "ledger"]}
STRENGTHS = (0.8, 1.0)  # times the CPU time that the service uses


def truth_of(app, target):
    found = truth.handler(app, target, "Q", r"^quota|sonde-lab")
    found.also = truth.all_of([target], "Q")
    return found


def inject(app, target, strength):
    return app.throttled(target, strength)

# SPDX-License-Identifier: Apache-2.0
"""A control group limits the CPU time of a service to what it uses on average, or to less."""
from truth import Truth

TARGETS = {"bank": ["frontend", "users", "contacts", "ledger", "balance"], "bank-sync": ["users", "contacts"],
           "demo": ["front", "contacts", "ledger"]}
STRENGTHS = (0.8, 1.0)  # times the CPU time that the service uses


def truth_of(app, target):
    return Truth([(target, r".*", "Q")], r"^quota|sonde-lab")


def inject(app, target, strength):
    return app.throttled(target, strength)

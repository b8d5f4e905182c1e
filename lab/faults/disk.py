# SPDX-License-Identifier: Apache-2.0
"""A control group limits the rate at which a service that keeps a journal writes to its disk."""
import truth

TARGETS = {"bank": ["users", "contacts", "ledger"], "bank-sync": ["contacts"], "demo": ["contacts:import"]}
STRENGTHS = (0.3, 0.5)  # of the rate at which the application is hardly slower


def truth_of(app, target):
    return truth.handler(app, target, "D", r"journal-|contacts\.wal|^quota|sonde-lab|\bvd|\bsd|nvme")


def inject(app, target, strength):
    return app.slow_disk(target.partition(":")[0], strength)

# SPDX-License-Identifier: Apache-2.0
"""The network between two services is slow; the target is the callee, or CALLER_CALLEE."""
from truth import Truth

TARGETS = {"bank": ["users", "contacts", "ledger", "balance", "balance_ledger"], "bank-sync": ["balance"],
           "demo": ["contacts", "ledger"]}
STRENGTHS = (5, 10, 20)  # ms in each direction


def truth_of(app, target):
    """The call is slow, not the callee; the culprit is the network, or the callee as its peer."""
    caller, _, callee = target.rpartition("_")
    caller = caller or ("front" if app == "demo" else "frontend")
    operations = rf"call {callee}" if app == "demo" else r"GET|POST"
    return Truth([(caller, operations, "N")], rf"network|10\.99\.0|\b{callee}\b")


def inject(app, target, strength):
    return app.injected("delay", target, strength)

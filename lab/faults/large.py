# SPDX-License-Identifier: Apache-2.0
"""No fault: all requests are for the factorial of a large number, which takes longer than most."""
TARGETS = {"factorial": ["factorial"]}
STRENGTHS = (1,)
KIND = "factorial"


def truth_of(app, target):
    return None


def inject(app, target, strength):
    return app.requesting("large")

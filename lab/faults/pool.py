# SPDX-License-Identifier: Apache-2.0
"""A service has one connection instead of eight, and requests wait for it."""
import truth

TARGETS = {"bank": ["users", "frontend"], "demo": ["front"]}
STRENGTHS = (1,)


def truth_of(app, target):
    """Calls of front wait inside of their spans."""
    found = truth.handler(app, target, "L", r"{service}|^lock")
    return truth.Truth([(target, r"call .*", "L")], found.culprit) if app == "demo" else found


def inject(app, target, strength):
    return app.injected("pool", target, strength)

# SPDX-License-Identifier: Apache-2.0
"""One service has another worker class of gunicorn than in the baseline: gthread instead of sync, or sync instead of gthread."""
from truth import Truth

TARGETS = {"bank": ["users", "contacts"], "bank-sync": ["users", "contacts", "frontend"]}
STRENGTHS = (1,)


def truth_of(app, target):
    """A sync worker reads and handles requests in one thread: other states, or other queueing; it can also be faster."""
    return Truth([(target, r".*", None)], r".*", is_party=False)


def inject(app, target, strength):
    return app.other_workers(target)

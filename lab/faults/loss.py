# SPDX-License-Identifier: Apache-2.0
"""The network between two services loses packets, which TCP sends again after 200 ms or more."""
import plan

delay = plan.load_fault("delay")
TARGETS = delay.TARGETS
STRENGTHS = (8, 15)  # per cent of the packets, of which half must arrive in time
truth_of = delay.truth_of


def inject(app, target, strength):
    return app.injected("loss", target, strength)

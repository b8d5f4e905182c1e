# SPDX-License-Identifier: Apache-2.0
"""The network between two services loses segments, which arrive after a retransmission timeout of 200 ms."""
import plan

delay = plan.load_fault("delay")
TARGETS = delay.TARGETS
STRENGTHS = (10, 20)  # per cent of the segments
truth_of = delay.truth_of


def inject(app, target, strength):
    return app.injected("loss", target, strength)

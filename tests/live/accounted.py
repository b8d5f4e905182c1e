# SPDX-License-Identifier: Apache-2.0
"""Every record and span event of a recording is accounted for, from the ring to the reader.

check() takes the output of `sonde info --json` for a complete capture, and raises if the sums of two
stages differ, or if events have disappeared from a ring.  Counted losses are accepted.
"""

NEVER = ("events_missing", "kernel_uncommitted")  # under any load


class Unaccounted(AssertionError):
    """Records or events disappeared without being counted."""


def check(info):
    if not info["complete"]:
        return  # a killed recorder leaves no counters
    if "counters" not in info:
        raise Unaccounted(f"{info['file']} has no counters")
    wrong = [f"{d['what']}: {d['before']} {d['from']}, {d['after']} {d['to']}" for d in info["discrepancies"]]
    wrong += [f"{name} is {info['counters'][name]}" for name in NEVER if info["counters"][name]]
    if wrong:
        raise Unaccounted(f"{info['file']}: {'; '.join(wrong)}; all counters: {info['counters']}")

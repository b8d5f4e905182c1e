#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spans of sonde.h in known patterns, compared with the truth that the program writes."""
import check
from harness import SCRATCH, each, main, workload


@each(("nested", 11), ("moved", 53), ("interleaved", 11), ("forked", 53), ("executed", 53))
def recorded_spans_match_the_truth(pattern, rounds):
    check.check(workload("agent-spans", "@", pattern, rounds), SCRATCH)


if __name__ == "__main__":
    main()

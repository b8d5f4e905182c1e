# SPDX-License-Identifier: Apache-2.0
"""Patterns by seq2pat: reads JSON lines [sequences, support, least, most], writes [CPU seconds, {pattern: support}].

Runs in a Python that has seq2pat; tests/oracle/mine.py and bench/bench_mine.py start it.
"""
import json
import os
import sys

from sequential.seq2pat import Attribute, Seq2Pat


def cpu_seconds():
    """Of this process and its children, in which seq2pat searches."""
    return sum(os.times()[:4])


def mine(sequences, support, least, most):
    """All frequent patterns of at least two letters; seq2pat has no others."""
    miner = Seq2Pat(sequences=[list(s) for s in sequences], max_span=None)
    position = Attribute(values=[list(range(len(s))) for s in sequences])
    miner.add_constraint(least + 1 <= position.gap() <= most + 1)
    return {"".join(letters): count for *letters, count in miner.get_patterns(support)}


for line in sys.stdin:
    arguments = json.loads(line)
    begin = cpu_seconds()
    found = mine(*arguments)
    print(json.dumps([cpu_seconds() - begin, found]), flush=True)

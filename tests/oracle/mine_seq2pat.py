# SPDX-License-Identifier: Apache-2.0
"""Patterns by seq2pat: reads JSON lines [sequences, support, least, most], writes [CPU seconds, {pattern: support}].

Runs in a Python that has seq2pat; tests/oracle/mine.py and bench/bench_mine.py start it.
"""
import json
import sys
import time

from sequential.seq2pat import Attribute, Seq2Pat


def mine(sequences, support, least, most):
    """All frequent patterns of at least two letters; seq2pat has no others."""
    miner = Seq2Pat(sequences=[list(s) for s in sequences], max_span=None)
    position = Attribute(values=[list(range(len(s))) for s in sequences])
    miner.add_constraint(least + 1 <= position.gap() <= most + 1)
    return {"".join(letters): count for *letters, count in miner.get_patterns(support)}


for line in sys.stdin:
    arguments = json.loads(line)
    begin = time.process_time()
    found = mine(*arguments)
    print(json.dumps([time.process_time() - begin, found]), flush=True)

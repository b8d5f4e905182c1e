#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the fault lab's judge, and of the form of each fault."""
import pathlib
import re
import sys
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import judge  # noqa: E402
import lab  # noqa: E402

EXPLAINED = """\
127.0.0.1:80   shop   91 ms   trace 1
    90 ms  L  shop (3 of 1): waits for a lock
cause (62 %): shop (2 of 1): sleeps in clock_nanosleep, while
                shop (3 of 1) waits for the lock it holds
also  (36 %): shop (1): runs
"""


class Causes(unittest.TestCase):
    def test_first_cause_is_unwrapped(self):
        self.assertEqual(judge.first_cause(EXPLAINED), "shop (2 of 1): sleeps in clock_nanosleep, while "
                                                       "shop (3 of 1) waits for the lock it holds")

    def test_first_cause_can_be_the_first_or_the_last_line(self):
        self.assertEqual(judge.first_cause("cause (9 %): a: runs\nof the latency\n"), "a: runs")
        self.assertEqual(judge.first_cause("a\ncause (9 %): a: runs"), "a: runs")
        self.assertEqual(judge.first_cause("no requests\n"), "")

    def test_json_prefers_causes_of_all_slow_requests(self):
        one, all_slow = [{"text": "one"}], [{"text": "all"}]
        self.assertEqual(judge.first_json_cause([{"causes": one, "baseline": {"causes": all_slow}}]), "all")
        self.assertEqual(judge.first_json_cause([{"causes": one, "baseline": {"count": 3}}]), "one")
        self.assertEqual(judge.first_json_cause([]), "")

    def test_an_unknown_cause_is_no_wrong_lead(self):
        fault = types.SimpleNamespace(TRUTH="sleeps.*lock", PARTLY="lock")
        words = {"a sleeps, holds the lock": "right", "a lock": "partly", "a: cause unknown": "partly", "": "partly",
                 "a: runs": "wrong"}
        for cause, word in words.items():
            self.assertEqual(judge.judge_causes(fault, cause, cause).word, word, cause)

    def test_the_worse_of_text_and_json_counts(self):
        fault = types.SimpleNamespace(TRUTH="lock")
        self.assertEqual(judge.judge_causes(fault, "lock", "runs"), ("wrong", "runs"))


class Percentiles(unittest.TestCase):
    def test_nearest_rank(self):
        self.assertEqual([judge.nearest_rank(range(1, 101), p) for p in (50, 95, 99)], [50, 95, 99])
        self.assertEqual(judge.nearest_rank([7], 99), 7)

    def test_agreement_is_relative_above_the_floor(self):
        def agrees(ours, client):
            row = {"p50": ours, "p95": ours, "p99": ours}
            return {agreed for *_, agreed in judge.compare(row, [client])}
        self.assertEqual(agrees(91_000_000, 100_000_000), {True})
        self.assertEqual(agrees(89_000_000, 100_000_000), {False})
        self.assertEqual(agrees(100_000, 399_000), {True})
        self.assertEqual(agrees(100_000, 401_000), {False})


class Faults(unittest.TestCase):
    def test_each_fault_has_a_description_and_a_truth(self):
        for name in lab.names():
            fault = lab.load_fault(name)
            self.assertTrue(fault.__doc__, name)
            re.compile(fault.TRUTH)
            re.compile(getattr(fault, "PARTLY", ""))
            self.assertTrue(callable(fault.start), name)

    def test_about_half_of_the_faults_are_held_out(self):
        held_out = set(lab.names()) - lab.TUNED
        self.assertGreaterEqual(len(held_out), 0.4 * len(lab.names()))


if __name__ == "__main__":
    unittest.main()

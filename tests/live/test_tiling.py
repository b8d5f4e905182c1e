#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of recordings must accept a good one and find each error in a bad one."""
import copy
import unittest

import tiling


def task(time, tid, event="existing", **more):
    return {"kind": "task", "time": time, "tid": tid, "pid": tid, "event": event, "parent_tid": 1, **more}


def interval(state, start, end, tid, cpu=0, **more):
    return {"kind": "interval", "time": end, "state": state, "start": start, "end": end, "tid": tid,
            "cpu": cpu, **more}


# A parent that forks a child, waits for it and outlives it; an out-of-scope task runs as well.
GOOD = [
    task(100, 10),
    task(150, 99, "out_of_scope"),
    interval("R", 100, 150, 99, cpu=1, out_of_scope=True),
    task(200, 11, "new", parent_tid=10),
    interval("R", 100, 250, 10),
    interval("C", 200, 260, 11),
    interval("R", 260, 400, 11),
    {"kind": "exit", "time": 400, "tid": 11, "pid": 11, "wait_status": 0},
    interval("I", 250, 390, 10, woken_by="task", waker_tid=11) | {"time": 410},
    interval("C", 390, 410, 10),
    interval("R", 410, 500, 10, unfinished=True),
]


class Tiling(unittest.TestCase):
    def setUp(self):
        self.records = copy.deepcopy(GOOD)

    def expect(self, *words, **how):
        wrong = tiling.check(self.records, **how)
        self.assertEqual(len(wrong), len(words), wrong)
        for sentence, word in zip(wrong, words):
            self.assertIn(word, sentence)

    def test_a_good_recording_has_no_faults(self):
        self.expect()

    def test_a_gap(self):
        self.records[6]["start"] += 1
        self.expect("thread 11: gap of 1 ns")

    def test_an_overlap_within_a_thread(self):
        self.records[6]["start"] -= 1
        self.expect("thread 11: overlap of 1 ns")

    def test_a_first_interval_that_comes_late(self):
        self.records[5]["start"] += 7
        self.expect("thread 11: gap of 7 ns")

    def test_a_missing_interval(self):
        del self.records[9]
        self.expect("thread 10: gap of 20 ns")

    def test_an_interval_after_the_exit(self):
        self.records.insert(8, interval("R", 400, 405, 11))
        self.expect("thread 11: R at 400, but has no task record")

    def test_an_exit_after_the_last_interval(self):
        self.records[6]["end"] -= 5
        self.expect("thread 11: exits at 400, but its last interval ends at 395")

    def test_a_thread_that_ends_without_an_exit(self):
        del self.records[7]
        self.expect("thread 11: ends at 400, 100 ns before the recording")

    def test_an_incomplete_recording_can_end_anywhere(self):
        del self.records[7]
        self.expect(complete=False)

    def test_an_incomplete_recording_must_tile_too(self):
        del self.records[7]
        self.records[6]["start"] += 1
        self.expect("gap of 1 ns", complete=False)

    def test_two_threads_on_one_cpu(self):
        self.records[2]["cpu"] = 0
        self.expect("CPU 0: threads 99 and 10 both run at 100")

    def test_an_unknown_waker(self):
        self.records[8]["waker_tid"] = 77
        self.expect("woken at 390 by 77, which is unknown")

    def test_an_unknown_parent(self):
        self.records[3]["parent_tid"] = 77
        self.expect("thread 11 was made by 77")

    def test_a_thread_without_a_task_record(self):
        del self.records[0]
        self.assertIn("thread 10: R at 100, but has no task record", tiling.check(self.records)[1])

    def test_an_out_of_scope_task_without_a_name(self):
        del self.records[1]
        self.expect("thread 99 runs at 100, but was never named")

    def test_a_second_task_record(self):
        self.records.insert(4, task(200, 10))
        self.assertIn("second task record", tiling.check(self.records)[0])

    def test_records_out_of_order(self):
        self.records[4], self.records[5] = self.records[5], self.records[4]
        self.expect("interval: time 250 is after 260")

    def test_a_loss(self):
        self.records.append({"kind": "loss", "time": 500, "count": 3})
        self.expect("3 records were lost")

    def test_an_interval_that_ends_before_it_begins(self):
        self.records.insert(8, interval("R", 405, 400, 10))
        self.assertIn("R from 405 to 400", tiling.check(self.records)[0])

    def test_an_unknown_state(self):
        self.records[8]["state"] = "W"
        self.expect("no such state as W")

    def test_a_reused_tid(self):
        self.records[8:8] = [task(401, 11, "new", parent_tid=10), interval("C", 401, 402, 11),
                             interval("R", 402, 403, 11),
                             {"kind": "exit", "time": 403, "tid": 11, "pid": 11, "wait_status": 0}]
        self.expect()


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The path checker must accept a good path and find each error in a bad one."""
import copy
import unittest

import invariants


def interval(state, start, end, tid, **more):
    return {"kind": "interval", "time": end, "state": state, "start": start, "end": end, "tid": tid, "cpu": 0,
            **more}


# Thread 10 waits for a lock that thread 11 holds while it sleeps.
RECORDS = [
    {"kind": "task", "time": 100, "tid": 10, "pid": 10, "event": "existing", "parent_tid": 1},
    {"kind": "task", "time": 100, "tid": 11, "pid": 10, "event": "existing", "parent_tid": 1},
    interval("R", 100, 200, 10),
    interval("R", 100, 300, 11) | {"cpu": 1},
    interval("T", 300, 600, 11, woken_by="hrtimer"),
    interval("C", 600, 610, 11),
    interval("L", 200, 700, 10, woken_by="task", waker_tid=11),
    interval("R", 610, 800, 11) | {"cpu": 1},
    interval("C", 700, 720, 10),
    interval("R", 720, 800, 10),
]
WAKER = {"tid": 11, "pid": 10, "comm": "b"}


def step(number, state, start, end, tid, parent=0, depth=0, leaf=True, **more):
    return {"id": number, "state": state, "start": start, "end": end, "tid": tid, "parent": parent,
            "depth": depth, "leaf": leaf, **more}


STEPS = [
    step(1, "R", 100, 200, 10),
    step(2, "L", 200, 700, 10, leaf=False, woken_by="task", waker=WAKER),
    step(3, "R", 200, 300, 11, 2, 1),
    step(4, "T", 300, 600, 11, 2, 1, woken_by="hrtimer"),
    step(5, "C", 600, 610, 11, 2, 1),
    step(6, "R", 610, 700, 11, 2, 1),
    step(7, "C", 700, 720, 10),
    step(8, "R", 720, 800, 10),
]

ACCOUNT = {
    "duration": 700, "explained_time": 700,
    "nodes": [{"id": 1, "parent": 0, "duration": 180}, {"id": 2, "parent": 0, "duration": 500},
                {"id": 3, "parent": 0, "duration": 20}, {"id": 4, "parent": 2, "duration": 300},
                {"id": 5, "parent": 2, "duration": 200}],
    "causes": [{"node": 4, "duration": 300}, {"node": 5, "duration": 200}, {"node": 1, "duration": 180},
               {"node": 3, "duration": 20}],
}


class Paths(unittest.TestCase):
    def setUp(self):
        self.steps = copy.deepcopy(STEPS)
        self.lives = invariants.Lives(RECORDS)

    def expect(self, *words):
        wrong = list(invariants.path_complaints(self.steps, self.lives, *self.lives.span(10)))
        self.assertEqual(bool(wrong), bool(words), wrong)
        for word in words:
            self.assertTrue(any(word in sentence for sentence in wrong), wrong)

    def test_a_good_path_has_no_faults(self):
        self.expect()

    def test_a_gap_between_leaves(self):
        self.steps[4]["start"] += 1
        self.expect("leaves: gap of 1 ns before step 5", "under step 2: gap of 1 ns")

    def test_a_step_before_the_wait_it_explains(self):
        self.steps[2]["start"] = 150
        self.expect("leaves: overlap of 50 ns before step 3", "under step 2: overlap")

    def test_a_step_that_outlasts_the_wait_it_explains(self):
        self.steps[5]["end"] = 705
        self.expect("under step 2: ends at 705, not at 700")

    def test_a_path_that_ends_early(self):
        del self.steps[7]
        self.expect("leaves: ends at 720, not at 800")

    def test_a_step_without_length(self):
        self.steps.insert(7, step(8, "R", 720, 720, 10))
        self.steps[8]["id"] = 9
        self.expect("step 8 has no length")

    def test_a_step_that_explains_a_later_one(self):
        self.steps[2]["parent"] = 6
        self.expect("step 3 has parent 6")

    def test_a_wrong_depth(self):
        self.steps[3]["depth"] = 2
        self.expect("step 4 has depth 2, under 0")

    def test_a_leaf_that_others_explain(self):
        self.steps[1]["leaf"] = True
        self.expect("step 2: leaf is True")

    def test_running_time_needs_no_explanation(self):
        self.steps[1]["state"] = "R"
        self.expect("step 2 is R, but other steps explain it")

    def test_a_state_without_a_record(self):
        self.steps[3]["state"] = "D"
        self.expect("thread 11 is D from 300 to 600, but the records say T")

    def test_a_thread_that_did_something_else(self):
        self.steps[0]["tid"] = 12
        self.expect("thread 12 is R from 100 to 200, but the records say nothing")

    def test_an_unexplained_wait_with_a_known_waker(self):
        self.steps = [self.steps[0], self.steps[1] | {"leaf": True}, self.steps[6], self.steps[7]]
        for number, s in enumerate(self.steps, 1):
            s["id"] = number
        self.expect("step 2 was ended by thread 11, but 10 explains it")

    def test_a_wait_with_a_kernel_thread_as_waker(self):
        self.lives.kernel.add(11)  # kernel threads are not followed
        self.steps = [self.steps[0], self.steps[1] | {"leaf": True}, self.steps[6], self.steps[7]]
        for number, s in enumerate(self.steps, 1):
            s["id"] = number
        self.expect()

    def test_a_gap_where_there_are_records(self):
        self.steps[5] |= {"state": " "}
        self.expect("but the records say R from 610")

    def test_a_gap_where_there_are_none(self):
        self.lives.intervals[11] = self.lives.intervals[11][:-1]
        self.steps[5] |= {"state": " "}
        self.expect()


class Accounts(unittest.TestCase):
    def setUp(self):
        self.account = copy.deepcopy(ACCOUNT)

    def expect(self, *words):
        wrong = list(invariants.account_complaints(self.account))
        self.assertEqual(len(wrong), len(words), wrong)
        for sentence, word in zip(wrong, words):
            self.assertIn(word, sentence)

    def test_a_good_account_has_no_faults(self):
        self.expect()

    def test_nodes_that_do_not_add_up(self):
        self.account["nodes"][3]["duration"] += 1
        self.account["causes"][0]["duration"] += 1
        self.expect("node 2 has 500 ns, those under it 501")

    def test_a_whole_that_is_not_its_parts(self):
        self.account["duration"] += 1
        self.expect("node 0 has 701 ns, those under it 700")

    def test_a_missing_cause(self):
        del self.account["causes"][3]
        self.expect("causes of 680 ns, but leaves of 700")

    def test_more_explained_time_than_duration(self):
        self.account["explained_time"] = 701
        self.expect("701 ns of 700 are explained")


class Some(unittest.TestCase):
    def test_many_threads_are_sampled_evenly(self):
        lives = invariants.Lives(RECORDS)
        lives.last = dict.fromkeys(range(1, 1001))
        tids = lives.some()
        self.assertLessEqual(len(tids), invariants.THREADS)
        self.assertEqual((tids[0], tids[1] - tids[0]), (1, tids[-1] - tids[-2]))

    def test_few_threads_are_all_checked(self):
        self.assertEqual(invariants.Lives(RECORDS).some(), [10, 11])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the lab's scorer, of its halves, and of the form of each fault; without privileges."""
import collections
import dataclasses
import json
import pathlib
import re
import struct
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import network  # noqa: E402
import plan  # noqa: E402
import score  # noqa: E402
import table  # noqa: E402
from truth import Truth  # noqa: E402

FLUSH = Truth([("contacts", r".* /.*", "D")], r"seen-contacts")
SLEEP = Truth([("users", r".* /.*", "T")], r"^none|users", is_party=False)
QUERY = Truth([("contacts", r"SELECT", "N"), ("postgres", r".*", "R")], r"postgres")


def finding(rank, service, operation, state, culprit=("none", "")):
    return {"rank": rank, "service": service, "operation": operation, "kind": "state", "state": state,
            "culprit": {"kind": culprit[0], "name": culprit[1]}}


def operation(service, name, **counts):
    return {"service": service, "operation": name, "spans": 100, "flagged": 0, "flagged_paper": 0} | counts


def report(findings, operations=()):
    return {"traces": 100, "spans": 1000, "flagged": 7, "flagged_paper": 30, "operations": list(operations),
            "findings": findings}


def case(*truths, kind="alone", faults=("flush",)):
    return plan.Case("a", "bank", kind, "held-out", [(fault, "contacts", 1) for fault in faults], truths=list(truths))


RIGHT = finding(1, "contacts", "GET /contacts", "D", ("file", "run/seen-contacts.log"))


class Scores(unittest.TestCase):
    def test_the_first_finding_must_have_service_operation_and_state(self):
        wrong = [finding(1, "users", "GET /contacts", "D"), finding(1, "contacts", "SELECT", "D"),
                 finding(1, "contacts", "GET /contacts", "N"), finding(1, "contacts", "GET /contacts", None)]
        self.assertTrue(score.score(case(FLUSH), report([RIGHT]))["first"])
        for one in wrong:
            self.assertFalse(score.score(case(FLUSH), report([one]))["first"], one)
        self.assertFalse(score.score(case(FLUSH), report([]))["first"])

    def test_findings_are_ordered_by_rank(self):
        found = score.score(case(FLUSH), report([finding(2, "users", "GET /name", "R"), RIGHT]))
        self.assertTrue(found["first"])

    def test_the_fourth_finding_does_not_count(self):
        others = [finding(rank, "users", "GET /name", "R") for rank in (1, 2, 3)]
        for rank, expected in ((3, True), (4, False)):
            found = score.score(case(FLUSH), report(others[:rank - 1] + [RIGHT | {"rank": rank}]))
            self.assertEqual((found["first"], found["three"]), (False, expected))

    def test_a_truth_without_states_accepts_any_change_of_its_operations(self):
        workers = Truth([("contacts", r".*", None)], r".*", is_party=False)
        self.assertTrue(score.score(case(workers), report([finding(1, "contacts", "GET /x", None)]))["first"])
        self.assertFalse(score.score(case(workers), report([finding(1, "users", "GET /x", None)]))["first"])

    def test_each_place_has_its_own_letters(self):
        for service, state, expected in (("contacts", "N", True), ("contacts", "R", False), ("postgres", "R", True)):
            found = score.score(case(QUERY), report([finding(1, service, "SELECT", state, ("peer", "postgres"))]))
            self.assertEqual(found["first"], expected, (service, state))

    def test_a_finding_without_a_culprit_names_its_service(self):
        self.assertEqual(score.score(case(QUERY), report([finding(1, "postgres", "x", "R")]))["culprits"], [(True, True)])
        self.assertEqual(score.score(case(QUERY), report([finding(1, "contacts", "SELECT", "N")]))["culprits"],
                         [(False, True)])

    def test_two_faults_must_both_be_among_the_first_three(self):
        both = case(FLUSH, SLEEP, kind="two", faults=("flush", "sleep"))
        one = score.score(both, report([RIGHT]))
        self.assertEqual((one["first"], one["three"]), (True, False))
        two = score.score(both, report([RIGHT, finding(2, "users", "POST /check", "T")]))
        self.assertEqual((two["first"], two["three"]), (True, True))
        self.assertEqual(two["culprits"], [(True, True), (True, False)])

    def test_the_culprit_counts_only_if_the_cause_is_right(self):
        def culprits(*findings):
            return score.score(case(FLUSH), report(list(findings)))["culprits"]
        self.assertEqual(culprits(RIGHT), [(True, True)])
        self.assertEqual(culprits(RIGHT | {"culprit": {"kind": "file", "name": "other"}}), [(False, True)])
        self.assertEqual(culprits(RIGHT | {"culprit": None}), [(False, True)])
        self.assertEqual(culprits(finding(1, "users", "GET /name", "R")), [(None, True)])
        results = [{"culprits": [(True, True), (False, False)]}, {"culprits": [(None, True)]}]
        self.assertEqual(score.culprits(results), (1, 2))
        self.assertEqual(score.culprits(results, only_parties=True), (1, 1))

    def test_the_letter_is_counted_in_the_faulty_operations_only(self):
        rows = [operation("contacts", "GET /contacts", slower_than_p99=50, slower_than_p99_flagged_by_state={"D": 45}),
                operation("contacts", "SELECT", slower_than_p99=9, slower_than_p99_flagged_by_state={"D": 1}),
                operation("users", "GET /name", slower_than_p99=9)]
        found = score.score(case(FLUSH), report([RIGHT], rows))
        self.assertEqual(found["letters"], {"flush": (45, 50)})
        self.assertEqual(score.letter_sums([found, found], "flush"), (90, 100))

    def test_other_places_are_right_but_not_counted(self):
        hog = Truth([("ledger", r"GET /.*", "C")], r"hog", also=[("frontend", r".*", "C")])
        rows = [operation("ledger", "GET /a", slower_than_p99=10, slower_than_p99_flagged_by_state={"C": 9}),
                operation("frontend", "GET /b", slower_than_p99=10)]
        found = score.score(case(hog, faults=("hog",)), report([finding(1, "frontend", "GET /b", "C")], rows))
        self.assertTrue(found["first"])
        self.assertEqual(found["letters"], {"hog": (9, 10)})

    def test_a_clean_case_has_counts_only(self):
        found = score.score(case(kind="clean", faults=()), report([RIGHT]))
        self.assertNotIn("first", found)
        self.assertEqual(score.shares([found, found], "flagged"), (14, 2000))
        self.assertEqual(score.shares([found, found], "flagged_paper"), (60, 2000))


class Intervals(unittest.TestCase):
    def test_wilson(self):
        for (count, total), expected in {(0, 10): (0, 0.2775), (10, 10): (0.7225, 1), (114, 120): (0.8952, 0.9769)}.items():
            low, high = score.wilson(count, total)
            self.assertAlmostEqual(low, expected[0], 4)
            self.assertAlmostEqual(high, expected[1], 4)

    def test_nothing_observed_excludes_nothing(self):
        self.assertEqual(score.wilson(0, 0), (0, 1))
        self.assertEqual(table.with_interval((0, 0)), "–")


class Tables(unittest.TestCase):
    def test_a_table_has_each_figure_and_what_failed(self):
        rows = [operation("contacts", "GET /contacts", flagged=80, flagged_paper=50)]
        wrong = finding(1, "users", "GET /name", "R", ("process", "x"))
        results = [score.score(case(FLUSH), report([RIGHT], rows)), score.score(case(FLUSH), report([wrong], rows)),
                   score.score(case(kind="clean", faults=()), report([])),
                   {"name": "b", "app": "bank", "kind": "alone", "faults": ["hog"], "reason": "no bank"}]
        text = table.text(json.loads(json.dumps(results)), "held-out")
        for part in ("2 cases with faults, 1 clean", "50.0 % [9.5, 90.5] 1/2", "| flush | bank | 2 | 1/2 | 1/2 | 1/1 | 80.0 % | 50.0 % |",
                     "| clean runs: flagged spans | 0.7 %", "users GET /name: state R (process x)", "| b | no bank |"):
            self.assertIn(part, text)

    def test_no_results_make_a_table(self):
        self.assertIn("All cases are right.", table.text([], "tuning"))


class Plans(unittest.TestCase):
    def test_no_experiment_is_in_both_halves_except_for_the_factorial(self):
        names = {half: {c.name for cases in plan.full(half).values() for c in cases if c.kind in table.UNSEEN}
                 for half in plan.HALVES}
        self.assertFalse(names["tuning"] & names["held-out"])
        self.assertEqual({plan.half_of(*e) for e in plan.experiments()}, set(plan.HALVES))

    def test_two_faults_are_of_the_same_half(self):
        for half in plan.HALVES:
            for cases in plan.full(half).values():
                for one in cases:
                    if one.kind == "two":
                        halves = {plan.half_of(fault, one.app, target) for fault, target, _ in one.faults}
                        self.assertEqual(halves, {half}, one.name)

    def test_each_half_has_all_faults_and_at_least_120_cases(self):
        for half in plan.HALVES:
            cases = [c for some in plan.full(half).values() for c in some]
            kinds = collections.Counter(c.kind for c in cases)
            self.assertGreaterEqual(sum(kinds[kind] for kind in table.UNSEEN), 120)
            self.assertGreaterEqual(min(kinds["propagated"], kinds["two"], kinds["clean"]), 15)
            self.assertEqual({fault for c in cases for fault, *_ in c.faults}, set(plan.fault_names()))

    def test_names_of_cases_are_unique(self):
        names = [c.name for half in plan.HALVES for some in plan.full(half).values() for c in some if c.truths and c.kind != "factorial"]
        self.assertEqual(len(names), len(set(names)))

    def test_the_plan_is_the_same_each_time(self):
        self.assertEqual(repr(plan.full("held-out")), repr(plan.full("held-out")))

    def test_the_short_lab_has_each_fault_once(self):
        for half in plan.HALVES:
            cases = [c for some in plan.short(half).values() for c in some]
            self.assertLessEqual(len(cases), 30)
            alone = collections.Counter(c.faults[0][0] for c in cases if c.kind in ("alone", "factorial"))
            self.assertEqual(set(alone.values()), {1})


def packet(source, source_port, target, target_port, protocol=6):
    """The headers of a packet between two addresses."""
    address = [bytes(map(int, host.split("."))) for host in (source, target)]
    return struct.pack("!BxHHHBBH", 0x45, 40, 0, 0, 64, protocol, 0) + b"".join(address) + \
        struct.pack("!HH16x", source_port, target_port)


class Networks(unittest.TestCase):
    LINKS = network.parse_links(["users=10.99.0.1:80", "ledger=10.99.0.2:80"])

    def test_a_link_is_the_address_and_port_of_the_callee_in_both_directions(self):
        def link(*ends):
            return network.link_of(packet(*ends), self.LINKS)
        self.assertEqual(link("10.99.0.1", 5000, "10.99.0.2", 80), "ledger")
        self.assertEqual(link("10.99.0.2", 80, "10.99.0.1", 5000), "ledger")
        self.assertEqual(link("10.99.0.1", 5000, "10.99.0.1", 80), "users")
        self.assertIsNone(link("10.99.0.1", 5000, "10.99.0.1", 81))
        self.assertIsNone(link("10.99.0.1", 5000, "10.99.0.2", 80, 17))

    def test_only_the_packets_of_a_faulty_link_are_late_or_lost(self):
        cable = network.Cable(None, ".", self.LINKS)
        to_users, to_ledger = (packet("10.99.0.1", 5000, host, 80) for host in ("10.99.0.1", "10.99.0.2"))
        cable.strengths = {("delay", "users"): 20, ("loss", "ledger"): 100}
        for one in (to_users, to_ledger, packet("10.99.0.1", 1, "10.99.0.1", 2)):
            cable.take(one, 1.0)
        self.assertEqual([due for due, *_ in sorted(cable.waiting)], [1.0, 1.02])


class Faults(unittest.TestCase):
    def test_each_fault_has_a_description_targets_and_a_truth(self):
        for name, app, target in plan.experiments():
            fault = plan.load_fault(name)
            self.assertTrue(fault.__doc__ and fault.STRENGTHS and callable(fault.inject), name)
            self.assertIn(app, plan.APPLICATIONS, name)
            one = fault.truth_of(app, target)
            if one:
                patterns = [one.culprit, *(operations for _, operations, _ in one.places)]
                self.assertTrue(all(map(re.compile, patterns)) and one.services, name)

    def test_a_saved_truth_is_the_same(self):
        saved = Truth(**json.loads(json.dumps(dataclasses.asdict(FLUSH))))
        self.assertEqual(score.score(case(saved), report([RIGHT])), score.score(case(FLUSH), report([RIGHT])))


if __name__ == "__main__":
    unittest.main()

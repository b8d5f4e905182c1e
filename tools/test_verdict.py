#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verdicts on tests: no failure passes, and only a disturbed host allows a retry."""
import pathlib
import tempfile
import unittest

from verdict import Load, disturbance, final_reason, judge_exit, judge_fuzzer, judge_tap, retry, with_reports


class Exit(unittest.TestCase):
    def test_zero_passes(self):
        self.assertEqual(judge_exit(0, "")[:3], (1, 0, []))

    def test_77_skips_with_the_last_line_as_the_reason(self):
        self.assertEqual(judge_exit(77, "a\nno perf\n")[:3], (0, 0, [("", "no perf")]))

    def test_all_other_codes_fail(self):
        for code in (1, 2, 76, 99, 127, 139, -6, -11, None):
            self.assertEqual(judge_exit(code, "")[:2], (0, 1), code)


class Tap(unittest.TestCase):
    def test_cases_are_counted(self):
        got = judge_tap(0, "1..3\nok 1 - a\nok 2 - b # SKIP no c\nok 3\n")
        self.assertEqual(got[:3], (2, 0, [("b", "no c")]))

    def test_a_failed_case_fails_whatever_the_exit_code(self):
        for code in (0, 1, 77):
            self.assertEqual(judge_tap(code, "1..2\nok 1\nnot ok 2\n")[:2], (1, 1), code)

    def test_a_failed_case_is_not_a_skip(self):
        self.assertEqual(judge_tap(0, "1..1\nnot ok 1 - a # SKIP b\n")[:3], (0, 1, []))

    def test_exit_77_skips_the_rest(self):
        self.assertEqual(judge_tap(77, "1..2\nok 1\nno network\n")[:3], (1, 0, [("", "no network")]))

    def test_an_empty_plan_skips(self):
        self.assertEqual(judge_tap(0, "1..0 # SKIP no bank\n")[:3], (0, 0, [("", "no bank")]))

    def test_missing_cases_fail(self):
        for output in ("", "ok 1\n", "1..2\nok 1\n", "1..1\nok 1\nok 2\n"):
            self.assertTrue(judge_tap(0, output).failed, output)

    def test_an_exit_code_fails_even_if_all_cases_pass(self):
        for code in (1, 99, -6, None):
            self.assertEqual(judge_tap(code, "1..1\nok 1\n")[:2], (1, 1), code)

    def test_a_bail_out_fails(self):
        self.assertEqual(judge_tap(77, "1..2\nok 1\nBail out! no disk\n")[:2], (1, 1))


class Fuzzer(unittest.TestCase):
    OUTPUT = "#2\tINITED cov: 6 ft: 8 corp: 1/1b\n#9\tNEW    cov: 153 ft: 200\n"

    def test_low_coverage_fails(self):
        self.assertEqual(judge_fuzzer(0, self.OUTPUT, 154)[0][:2], (0, 1))
        self.assertEqual(judge_fuzzer(0, "", 1)[0][:2], (0, 1))

    def test_enough_coverage_passes(self):
        got, edges = judge_fuzzer(0, self.OUTPUT, 153)
        self.assertEqual((got[:2], edges), ((1, 0), 153))

    def test_a_finding_fails_with_any_exit_code_of_libfuzzer(self):
        for code in (1, 70, 71, 77, -6, None):
            self.assertEqual(judge_fuzzer(code, self.OUTPUT, 1)[0][:3], (0, 1, []), code)


class Final(unittest.TestCase):
    """Failures that are never retried."""

    def test_a_sanitizer_report_in_the_output(self):
        self.assertTrue(final_reason(99, ""))
        self.assertTrue(final_reason(1, "==1==ERROR: AddressSanitizer: heap-use-after-free\n"))
        self.assertTrue(final_reason(1, "a.c:3:1: runtime error: signed integer overflow\n"))
        self.assertTrue(final_reason(1, "failed: 'sonde record' exits with 99:\n"))

    def test_a_sanitizer_report_that_the_test_ignored(self):
        got = with_reports(judge_exit(0, "fine\n"), ["==1==ERROR: LeakSanitizer: detected memory leaks"])
        self.assertEqual(got[:2], (1, 1))
        self.assertTrue(final_reason(0, got.output))
        self.assertEqual(with_reports(judge_exit(77, "no perf"), ["x"])[:3], (0, 1, []))

    def test_a_crash_and_a_hang(self):
        for code in (-11, -6, 139, 134, None):
            self.assertTrue(final_reason(code, ""), code)
        self.assertTrue(final_reason(1, "failed: 'sonde info' exits with -11:\n"))

    def test_a_failure_that_the_test_marks_as_final(self):
        self.assertTrue(final_reason(1, "failed (no retry): 1 of 255 spans is missing\n"))
        self.assertTrue(final_reason(1, "not ok 1\n# failed (no retry): 1 of 255 spans is missing\n"))

    def test_other_failures_are_not_final(self):
        self.assertIsNone(final_reason(1, "failed: 51.2 ms, want 50.0 ms\n"))
        self.assertIsNone(final_reason(1, "failed: 'sonde info' exits with 1:\n"))


class Quiet:
    def signs(self):
        return []


class Busy:
    def signs(self):
        return ["the hypervisor took 9 % of a CPU"]


class Retry(unittest.TestCase):
    def sign(self, code, output, load):
        return retry(code, judge_exit(code, output), load)[0]

    def test_only_failures_on_a_disturbed_host_are_retried(self):
        self.assertIn("hypervisor", self.sign(1, "failed: 51 ms\n", Busy()))
        self.assertIsNone(self.sign(1, "failed: 51 ms\n", Quiet()))
        self.assertIsNone(self.sign(0, "", Busy()))
        self.assertIsNone(self.sign(77, "no perf\n", Busy()))

    def test_a_skip_is_retried_if_the_test_reports_a_sign(self):
        self.assertEqual(self.sign(77, "disturbed: hidden switches\nskipped\n", Quiet()), "hidden switches")

    def test_sanitizer_reports_and_crashes_are_never_retried(self):
        for code in (99, -11, 139, None):
            self.assertIsNone(self.sign(code, "", Busy()), code)
        reported = with_reports(judge_exit(0, ""), ["==1==ERROR: AddressSanitizer: x"])
        self.assertEqual(retry(0, reported, Busy()), (None, "sanitizer report"))

    def test_the_reason_for_no_retry_is_returned(self):
        self.assertEqual(retry(1, judge_exit(1, "failed: 51 ms\n"), Quiet()), (None, "the host was quiet"))


class Signs(unittest.TestCase):
    """A fake /proc: 7 is the runner, 8 its test, 20 an unrelated process."""

    def setUp(self):
        self.room = tempfile.TemporaryDirectory()
        self.addCleanup(self.room.cleanup)
        self.stat(stolen=100)
        for pid, parent in ((1, 0), (2, 0), (7, 1), (20, 1), (30, 2)):
            self.process(pid, parent, 10)
        self.load = Load(self.room.name, 7)
        self.load.began -= 1  # a second ago

    def stat(self, stolen):
        (pathlib.Path(self.room.name) / "stat").write_text(f"cpu  1 2 3 4 5 6 7 {stolen} 0 0\ncpu0 1\n")

    def process(self, pid, parent, ticks, reaped=0):
        directory = pathlib.Path(self.room.name) / str(pid)
        directory.mkdir(exist_ok=True)
        fields = f"S {parent} 0 0 0 0 0 0 0 0 0 {ticks} 0 {reaped} 0 20 0 1 0 {pid}"
        (directory / "stat").write_text(f"{pid} (a ) b) {fields} 0 0\n")

    def test_a_quiet_host_has_no_sign(self):
        self.stat(stolen=100)
        self.process(7, 1, 500, 500)
        self.process(8, 7, 500, 500)
        self.process(9, 8, 500)
        self.process(10, 1, 500)  # an orphan of the test
        self.process(1, 0, 10, 500)  # init, which reaps other orphans
        self.process(30, 2, 500)
        self.process(31, 2, 500)
        self.assertEqual(self.load.signs(), [])

    def test_a_tick_in_a_short_test_is_no_sign(self):
        self.load.began += 0.9
        self.stat(stolen=101)
        self.process(20, 1, 19)
        self.assertEqual(self.load.signs(), [])

    def test_stolen_time_is_a_sign(self):
        self.stat(stolen=104)
        self.assertRegex(self.load.signs()[0], "hypervisor took [34].* % of a CPU")

    def test_other_processes_are_a_sign(self):
        self.process(20, 1, 40)
        self.assertRegex(self.load.signs()[0], "other processes used [23].* % of a CPU")

    def test_children_of_other_processes_are_a_sign(self):
        self.process(20, 1, 10, reaped=40)
        self.assertEqual(len(self.load.signs()), 1)
        self.process(20, 1, 10)
        self.process(21, 20, 1)
        self.process(22, 21, 40)
        self.assertEqual(len(self.load.signs()), 1)

    def test_earlier_cpu_time_of_their_children_does_not_count(self):
        self.process(21, 20, 300, 100)
        load = Load(self.room.name, 7)
        load.began -= 1
        for path in (pathlib.Path(self.room.name) / "21").iterdir():
            path.unlink()
        self.process(20, 1, 10, reaped=402)
        self.assertEqual(load.signs(), [])
        self.process(20, 1, 10, reaped=450)
        self.assertEqual(len(load.signs()), 1)

    def test_earlier_cpu_time_of_their_grandchildren_does_not_count(self):
        self.process(21, 20, 3)
        self.process(22, 21, 300)
        load = Load(self.room.name, 7)
        load.began -= 1
        for pid in ("21", "22"):
            (pathlib.Path(self.room.name) / pid / "stat").unlink()
        self.process(20, 1, 10, reaped=305)
        self.assertEqual(load.signs(), [])

    def test_earlier_children_of_the_runner_do_not_count(self):
        self.process(8, 7, 10)
        load = Load(self.room.name, 7)
        load.began -= 1
        self.process(8, 7, 500, 500)
        self.assertEqual(load.signs(), [])

    def test_a_test_can_report_a_sign(self):
        self.assertEqual(disturbance(Quiet(), "# disturbed: 3 switches are hidden\nfailed\n"), ["3 switches are hidden"])
        self.assertEqual(disturbance(Quiet(), "failed: it was disturbed: no\n"), [])

    def test_the_real_proc_can_be_read(self):
        self.assertIsInstance(Load().signs(), list)


if __name__ == "__main__":
    unittest.main()

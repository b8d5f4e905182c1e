# SPDX-License-Identifier: Apache-2.0
"""Judge one run of a test, and decide whether a failure may be retried.

A test exits with 0 if it passes and with 77 if it skips; the last line of its
output is the reason.  A test that prints TAP counts once per case.

A failure is retried only if the host was disturbed during the run, and the sign of
that is reported.  `Load` measures two signs: time that the hypervisor took from the
host, and CPU time of processes that do not belong to the test.  A test can detect
others, such as context switches that a VM hides from tracers; it reports them as a
line `disturbed: SIGN`.  A skip with such a line is retried, too.

Some failures are final, because no load explains them: a sanitizer report, a
crash, a hang, and a line `failed (no retry): REASON` of the test.
"""
import collections
import os
import pathlib
import re
import time

SANITIZER_EXIT = 99
STOLEN = 0.01  # share of one CPU that the hypervisor takes from a disturbed host
OTHERS = 0.10  # share of one CPU that other processes use on a disturbed host
SHORTEST = 1  # shortest period for shares, in seconds: CPU time is counted in ticks of 10 ms
NO_REASON = "no reason given"

REPORT = re.compile(r"ERROR: (?:Address|Leak|Memory|Thread)Sanitizer|UndefinedBehaviorSanitizer|: runtime error: ")
DIED = re.compile(r"exits with (?:99|-\d+)\b")  # a test's report of a program that it ran
TAP_PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*skip\S*\s*(.*))?$", re.I)
TAP_CASE = re.compile(r"(not )?ok\b\s*\d*\s*-?\s*(.*?)(?:\s*#\s*skip\S*\s*(.*))?$", re.I)

Verdict = collections.namedtuple("Verdict", "passed failed skips output")


def last_line(output):
    lines = output.strip().splitlines()
    return lines[-1].strip() if lines else NO_REASON


def judge_exit(code, output):
    """A test that counts as one. code: exit code, or None after a timeout."""
    if code == 77:
        return Verdict(0, 0, [("", last_line(output))], output)
    if code is not None and code != 0:
        output += f"exit code {code}\n"
    return Verdict(int(code == 0), int(code != 0), [], output)


def judge_tap(code, output):
    """A test that prints TAP, where each line `ok` or `not ok` is a case."""
    passed = failed = 0
    skips, plan = [], None
    for line in output.splitlines():
        if found := TAP_PLAN.match(line):
            plan = int(found[1])
            skips += [("", found[2] or NO_REASON)] if plan == 0 else []
        elif found := TAP_CASE.match(line):
            if found[1]:
                failed += 1
            elif found[3] is not None:
                skips.append((found[2], found[3] or NO_REASON))
            else:
                passed += 1
        elif line.startswith("Bail out!"):
            failed += 1
    if code == 77 and not failed:
        return Verdict(passed, 0, skips + [("", last_line(output))], output)
    if plan is None or plan and plan != passed + failed + len(skips):
        failed, output = failed + 1, output + f"the TAP plan was {plan} cases\n"
    if code != 0:
        failed, output = failed or 1, output + f"exit code {code}\n"
    return Verdict(passed, failed, skips, output)


def judge_fuzzer(code, output, least):
    """The verdict on a run of libFuzzer, and how many edges it covered; fewer than `least` is a failure."""
    edges = max(map(int, re.findall(r" cov: (\d+) ", output)), default=0)
    passed = code == 0 and edges >= least
    if code != 0:  # also 77, which libFuzzer returns if it finds a crash
        output += f"exit code {code}\n"
    elif not passed:
        output += f"covered {edges} edges, fewer than {least}: add seeds to tests/data or tests/fuzz/seeds.py\n"
    return Verdict(int(passed), int(not passed), [], output), edges


def with_reports(verdict, reports):
    """The verdict, turned into a failure if a sanitizer wrote reports."""
    if not reports:
        return verdict
    return verdict._replace(failed=verdict.failed or 1, skips=[], output=verdict.output + "\n".join(["", *reports]))


def final_reason(code, output):
    """The reason why a failure is never retried, or None."""
    lines = output.splitlines()
    if code == SANITIZER_EXIT or any(REPORT.search(line) for line in lines):
        return "sanitizer report"
    if code is None:
        return "the test hung"
    if code < 0 or code > 128:
        return f"the test died of signal {-code if code < 0 else code - 128}"
    if any(DIED.search(line) for line in lines):
        return "a program of the test crashed"
    final = [line for line in lines if line.lstrip("# ").startswith("failed (no retry): ")]
    return final[0].lstrip("# ") if final else None


def reported_signs(output):
    lines = [line.lstrip("# ") for line in output.splitlines()]
    return [line.removeprefix("disturbed: ") for line in lines if line.startswith("disturbed: ")]


def disturbance(load, output):
    """Signs that the host was disturbed during a run with this output."""
    return load.signs() + reported_signs(output)


def retry(code, verdict, load):
    """The sign of a disturbance that allows a retry, or None; and the reason if there is none."""
    if not verdict.failed and not (verdict.skips and reported_signs(verdict.output)):
        return None, ""
    if reason := final_reason(code, verdict.output):
        return None, reason
    signs = disturbance(load, verdict.output)
    return ("; ".join(signs), "") if signs else (None, "the host was quiet")


class Load:
    """The CPU time that the hypervisor and other processes used since the object was created."""

    def __init__(self, proc="/proc", me=None):
        self.proc, self.me = pathlib.Path(proc), me or os.getpid()
        self.began, self.stolen_before, self.before = time.monotonic(), self.stolen(), self.times()
        self.parents = {pid: parent for (pid, _), (parent, _, _) in self.before.items()}

    def stolen(self):
        """Ticks that the hypervisor took from the host since boot."""
        return int((self.proc / "stat").read_text().split("\n", 1)[0].split()[8])

    def times(self):
        """{(pid, start): (parent, ticks of the process, ticks of children it reaped)}"""
        found = {}
        for path in self.proc.glob("[0-9]*/stat"):
            try:
                text = path.read_text()
            except OSError:
                continue  # the process exited
            words = text.rpartition(")")[2].split()
            own, reaped = int(words[11]) + int(words[12]), int(words[13]) + int(words[14])
            found[int(path.parent.name), int(words[19])] = int(words[1]), own, reaped
        return found

    def belongs_to_others(self, pid, parents):
        """Whether the process, or an ancestor, existed before, and does not descend from us."""
        known, foreign = {pid for pid, _ in self.before}, False
        while pid not in (self.me, 0, 1, 2):
            foreign |= pid in known
            pid = parents.get(pid, 0)
        return foreign and pid not in (self.me, 2)

    def reaper_of(self, pid, now):
        """The process that has the CPU time of one that exited: its nearest ancestor that still exists."""
        pid = self.parents.get(pid, 0)
        while pid and pid not in now:
            pid = self.parents.get(pid, 0)
        return pid

    def others(self):
        """Ticks of processes that do not belong to the test.

        Init, which reaps orphans of the test, does not count; neither do kernel threads, which
        also work for the test, and orphans that started meanwhile.
        """
        now = self.times()
        parents = {pid: parent for (pid, _), (parent, _, _) in now.items()}
        foreign = {key for key in now if self.belongs_to_others(key[0], parents)}
        pids = {pid for pid, _ in foreign}
        total = sum(now[key][1] + now[key][2] for key in foreign)
        for key, (_, own, reaped) in self.before.items():
            if key in foreign or key not in now and self.reaper_of(key[0], parents) in pids:
                total -= own + reaped
        return total

    def signs(self):
        tick, seconds = os.sysconf("SC_CLK_TCK"), max(time.monotonic() - self.began, SHORTEST)
        signs = []
        for share, limit, what in (((self.stolen() - self.stolen_before) / tick / seconds, STOLEN, "the hypervisor took"),
                                   (self.others() / tick / seconds, OTHERS, "other processes used")):
            if share > limit:
                signs.append(f"{what} {100 * share:.1f} % of a CPU")
        return signs


def attempts(count):
    """For a measurement in a test: yield once, and again only if the host was disturbed meanwhile."""
    for left in reversed(range(count)):
        load = Load()
        yield
        signs = load.signs()
        if not signs or not left:
            return
        print(f"# measured again: {'; '.join(signs)}", flush=True)

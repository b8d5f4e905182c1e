#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The diagnosis lab: inject known faults, record, and compare what `sonde diagnose` reports with the truth.

usage: lab.py [--build=DIR] [--half=held-out|tuning] [--short] [--only=REGEX] [--rescore] [--list]

Each application is recorded without faults, in several captures; `sonde learn` makes a baseline of them.
Then each case is recorded.  The captures are diagnosed at the end, when nothing else runs, and the tables
are printed.  BUILD/lab/HALF/ (or HALF-short/) has the captures and reports, BUILD/lab/results.json the results.

--rescore does not record: it reads the captures of the last run.  Needs root.
"""
import argparse
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import plan  # noqa: E402
import applications  # noqa: E402
import network  # noqa: E402
import score  # noqa: E402
import services  # noqa: E402
import table  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(TOP / "tools"))
import verdict  # noqa: E402

STARTS, PER_START = 2, 2  # the baseline has captures of several starts, as services differ from start to start
PAUSE = 0.5  # seconds after a case
PRIORITY = -10  # nice value: other load of the host is no part of any fault
PATIENCE = 300  # seconds for a command
SKIP = 77  # exit code of a test
FAILURES = (services.Failed, services.Skip, applications.bank.Failed, subprocess.TimeoutExpired, OSError)


def say(*words):
    print(*words, flush=True)


# Recording

@contextlib.contextmanager
def running(name, build):
    """An application that has served requests before the first recording."""
    with applications.create(name, build) as app:
        app.warm_up(3)
        yield app


def record_baseline(name, build, directory, starts):
    """Record an application without faults, at several starts; returns the CPU time of its services."""
    shares = {}
    for start in range(starts):
        with running(name, build) as app:
            for number in range(PER_START):
                app.measure(directory / f"{name}.baseline-{start}-{number}.sonde", 100 * start + number + 1)
        shares |= {key: max(share, shares.get(key, 0)) for key, share in app.shares.items()}
    return shares


def record_case(app, case, directory):
    """Record a case; returns an error message, or None."""
    with contextlib.ExitStack() as faults:
        for fault, target, strength in case.faults:
            faults.enter_context(plan.load_fault(fault).inject(app, target, strength))
        app.record(directory / f"{case.name}.sonde", case.seed)
    time.sleep(PAUSE)


def record_cases(name, build, cases, directory, shares):
    """Record all cases of an application; yields (case, reason of a failure or None, signs of a busy host).

    A failure restarts the application.
    """
    cases = list(cases)
    while cases:
        with running(name, build) as app:
            app.shares = shares
            while cases:
                case, reason, load = cases.pop(0), None, verdict.Load()
                try:
                    record_case(app, case, directory)
                except FAILURES as e:
                    reason = str(e)
                yield case, reason, load.signs()
                if reason:
                    break


def save_case(directory, case, reason, signs=()):
    text = json.dumps(dataclasses.asdict(case) | {"reason": reason, "disturbed": list(signs)}, indent=1)
    (directory / f"{case.name}.case.json").write_text(text)


def record_application(options, name, cases, directory):
    """Record the baseline and all cases of an application."""
    began = time.monotonic()
    try:
        shares = record_baseline(name, options.build, directory, 1 if options.short else STARTS)
    except FAILURES as e:
        say(f"{name}: no baseline: {e}")
        for case in cases:
            save_case(directory, case, f"no baseline: {e}")
        return
    say(f"{name}: baseline, {time.monotonic() - began:.0f} s; CPUs: "
        + ", ".join(f"{service} {share:.2f}" for service, share in shares.items()))
    for case, reason, signs in record_cases(name, options.build, cases, directory, shares):
        save_case(directory, case, reason, signs)
        say(f"{time.monotonic() - began:6.0f} s  {case.name}{': ' + reason if reason else ''}"
            f"{' (disturbed: ' + '; '.join(signs) + ')' if signs else ''}")


def record_all(options, cases, directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for name, some in cases.items():
        if some:
            record_application(options, name, some, directory)


# Diagnosis

def sonde(options, *arguments):
    done = subprocess.run([options.build / "sonde", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise services.Failed(f"'sonde {arguments[0]}' exits with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def learn(options, directory):
    for name in plan.APPLICATIONS:
        captures = sorted(directory.glob(f"{name}.baseline-*.sonde"))
        if captures:
            sonde(options, "learn", *captures, "-o", directory / f"{name}.baseline")


def load_case(path):
    """A case, with the truths as the files of the faults have them now; the reason of a failure; signs of a busy host."""
    fields = json.loads(path.read_text())
    reason, signs = fields.pop("reason"), fields.pop("disturbed")
    fields["truths"] = plan.truths_of(fields["faults"], fields["app"])
    return plan.Case(**fields), reason, signs


def examine(options, path):
    """The result of a case."""
    case, reason, signs = load_case(path)
    if not reason:
        try:
            capture = path.with_name(f"{case.name}.sonde")
            baseline = path.with_name(f"{case.app}.baseline")
            text = sonde(options, "diagnose", "-b", baseline, capture, "--json")
            path.with_name(f"{case.name}.report.json").write_text(text)
            return score.score(case, json.loads(text)) | {"disturbed": signs}
        except (services.Failed, subprocess.TimeoutExpired, ValueError, KeyError) as e:
            reason = repr(e) if isinstance(e, (ValueError, KeyError)) else str(e)
    return {"name": case.name, "app": case.app, "kind": case.kind, "faults": [fault for fault, *_ in case.faults],
            "disturbed": signs, "reason": reason.splitlines()[0][:200]}


def diagnose_all(options, directory):
    """The results of all cases, in the order of their names; two at a time."""
    learn(options, directory)
    paths = sorted(directory.glob("*.case.json"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda path: examine(options, path), paths))


def has_command(options, name):
    return subprocess.run([options.build / "sonde", name, "--help"], capture_output=True).returncode == 0


# The command

def chosen(options):
    cases = plan.short(options.half) if options.short else plan.full(options.half)
    if options.only:
        cases = {app: [case for case in some if re.search(options.only, case.name)] for app, some in cases.items()}
    return cases


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build")
    parser.add_argument("--half", choices=plan.HALVES, default="held-out")
    parser.add_argument("--short", action="store_true", help="a few cases of each class, 5 minutes")
    parser.add_argument("--only", metavar="REGEX", help="cases whose names match")
    parser.add_argument("--rescore", action="store_true", help="diagnose the captures of the last run again")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    options = parser.parse_args()
    options.build = options.build.resolve()
    return options


def run(options):
    directory = options.build / "lab" / (f"{options.half}-short" if options.short else options.half)
    began = time.monotonic()
    if not options.rescore:
        applications.bank.setup.make(options.build / "bank")  # which needs the network of the host
        network.enter()
        record_all(options, chosen(options), directory)
        say(f"recorded in {time.monotonic() - began:.0f} s\n")
    if not has_command(options, "diagnose"):
        say("sonde has no command 'diagnose': the captures are not judged")
        return SKIP
    results = diagnose_all(options, directory)
    (options.build / "lab" / "results.json").write_text(json.dumps({"half": options.half, "results": results}, indent=1))
    say(table.text(results, options.half))
    say(f"\n{time.monotonic() - began:.0f} s in all")
    return 0


def main():
    options = parse()
    if options.list:
        print(*(case.name for some in chosen(options).values() for case in some), sep="\n")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that services end
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    try:
        return run(options)
    except (applications.bank.setup.Missing, applications.bank.Failed, services.Failed) as problem:
        print(f"lab: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

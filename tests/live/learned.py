#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `sonde learn` learns of recordings, and what `sonde diagnose -b` finds in others."""
import json

from harness import SCRATCH, SONDE, equal, main, require, run, test, workload

SMALL = 400


def record_factorials(name, count, seed, slowed):
    """Returns the capture and the numbers of its spans."""
    path = SCRATCH / f"{name}.sonde"
    done = run(SONDE, "record", "-q", "-o", path, "--", *workload("factorial", count, seed, slowed))
    return path, [int(line.split()[0]) for line in done.stdout.splitlines()]


def flagged_by_size(baseline, capture):
    """The operation, and its finding of running time if there is one."""
    report = json.loads(run(SONDE, "diagnose", "--json", "-b", baseline, capture).stdout)
    running = [finding for finding in report["findings"] if finding.get("state") == "R"]
    return report["operations"][0], running


@test
def small_factorials_as_slow_as_large_ones_are_flagged():
    """The duration alone does not reveal it: a quarter of usual spans takes as long."""
    baseline = SCRATCH / "usual.baseline"
    usual = [record_factorials(f"usual-{i}", 601, i, 0)[0] for i in range(2)]
    run(SONDE, "learn", "-q", "-o", baseline, *usual)
    clean, _ = record_factorials("clean", 601, 7, 0)
    faulty, numbers = record_factorials("faulty", 601, 8, SMALL)
    operation, running = flagged_by_size(baseline, clean)
    print(f"# clean: {operation['flagged']} of {operation['spans']} spans are flagged")
    require(operation["flagged"] < 0.08 * operation["spans"], "usual spans are flagged")
    require(not any(finding["direction"] == "slower" for finding in running), "usual spans run longer")
    operation, running = flagged_by_size(baseline, faulty)
    small = numbers.count(SMALL)
    print(f"# faulty: {operation['flagged']} of {operation['spans']} spans are flagged, {small} are small")
    require(running, "the fault is not found")
    split = running[0]["split"]
    equal((split["key"], split["from"], split["to"]), ("n", SMALL, SMALL), "the part that deviates")
    require(split["flagged"] > 0.98 * small, "small numbers are flagged")
    others = operation["flagged"] - split["flagged"]
    print(f"# {split['flagged']} of {split['spans']} small ones, {others} of {operation['spans'] - split['spans']} others")
    require(others < 0.08 * (operation["spans"] - split["spans"]), "larger numbers are flagged")


main()

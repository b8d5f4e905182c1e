#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands on a process with the agent: `sonde run`, `sonde doctor --pid`, `sonde spans`."""
import contextlib
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))
from harness import (Background, SCRATCH, SONDE, WORKLOADS, equal, main, require, run, test,  # noqa: E402
                     wait_until)

ENOUGH = 7  # spans in a second; a busy host handles at least some


@contextlib.contextmanager
def orders(*before):
    with Background([*before, str(WORKLOADS / "agent-orders")], gate=False) as process:
        process.process.stdout.readline()
        wait_until(lambda: run(SONDE, "spans", "--pid", process.pid, expect=None).returncode == 0, "an order is handled")
        yield process


def names(pid, *options):
    reply = json.loads(run(SONDE, "spans", "--json", "--pid", pid, *options).stdout)
    return {n["name"]: n for n in reply}


def wait_for_orders(process):
    """Wait until a few more orders are handled."""
    before = names(process.pid)["order"]["count"]
    wait_until(lambda: names(process.pid)["order"]["count"] > before + 2, "more orders are handled")


def doctor(pid):
    reply = json.loads(run(SONDE, "doctor", "--json", "--pid", pid).stdout)
    equal(reply["pid"], int(pid), "pid")
    return {f["name"]: f for f in reply["features"]}


def recorded_names(pid):
    path = SCRATCH / "orders.sonde"
    run(SONDE, "record", "-q", "-d", "1s", "-o", path, "-p", pid)
    rows = json.loads(run(SONDE, "query", "--json", path, "SELECT operation, count(*) AS n FROM spans GROUP BY 1").stdout)
    return {row["operation"]: row["n"] for row in rows}


@test
def names_are_listed_and_counted():
    with orders() as process:
        wait_until(lambda: names(process.pid).get("order", {}).get("count", 0) > 3, "orders are handled")
        wait_for_orders(process)
        after = names(process.pid)
        equal(sorted(after), ["order", "order.line"], "names")
        require(all(n["enabled"] for n in after.values()), f"not all are on: {after}")


@test
def a_name_that_is_off_is_not_recorded_until_it_is_on_again():
    with orders() as process:
        both = recorded_names(process.pid)
        require(both.get("order", 0) > ENOUGH and both.get("order.line", 0) > ENOUGH, f"recorded: {both}")
        equal(names(process.pid, "--disable", "*.line")["order.line"]["enabled"], False, "order.line is on")
        wait_for_orders(process)  # open spans have ended
        one = recorded_names(process.pid)
        require(one.get("order", 0) > ENOUGH and "order.line" not in one, f"recorded with one off: {one}")
        names(process.pid, "--enable", "*")
        both = recorded_names(process.pid)
        require(both.get("order.line", 0) > ENOUGH, f"recorded with all on: {both}")


@test
def names_can_be_off_from_the_start():
    with orders(SONDE, "run", "--disable", "order.*") as process:
        wait_until(lambda: "order.line" in names(process.pid), "a line is handled")
        equal({n: s["enabled"] for n, s in names(process.pid).items()}, {"order": True, "order.line": False}, "names")


@test
def doctor_lists_what_it_finds_in_a_process():
    with orders() as process:
        wait_until(lambda: doctor(process.pid)["spans"]["ok"], "spans found")
        features = doctor(process.pid)
        require(all(f["ok"] for f in features.values()), f"something is missing: {features}")
        require("agent-orders" in features["service"]["reason"], features["service"]["reason"])


@test
def doctor_explains_why_it_finds_nothing():
    with Background(["sleep", "60"], gate=False) as process:
        features = doctor(process.pid)
        require(not any(f["ok"] for f in features.values()), f"something is found: {features}")
        require("sonde run" in features["agent"]["remedy"], features["agent"]["remedy"])
    done = run(SONDE, "doctor", "--pid", process.pid, expect=1)
    equal(done.stderr, f"sonde: there is no process {process.pid}\n", "after the process has exited")


@test
def spans_of_a_process_without_agent_are_refused():
    with Background(["sleep", "60"], gate=False) as process:
        done = run(SONDE, "spans", "--pid", process.pid, expect=1)
        require(f"see 'sonde doctor --pid {process.pid}'" in done.stderr, done.stderr)


@test
def run_changes_only_the_preload():
    show = ["sh", "-c", "env | grep -v '^_=' | sort; ls /proc/self/fd; kill -TERM $$"]
    plain, under = run(*show, expect=-15), run(SONDE, "run", *show, expect=-15)
    lines = [line for line in under.stdout.splitlines() if not line.startswith("LD_PRELOAD=")]
    equal(lines, plain.stdout.splitlines(), "environment and open files")
    require("libsonde-agent.so" in under.stdout, "the agent is not preloaded")
    equal(under.stderr, plain.stderr, "stderr")


@test
def run_puts_the_agent_before_other_preloads():
    done = run(SONDE, "run", SONDE, "run", "sh", "-c", "echo $LD_PRELOAD", env=os.environ | {"LD_PRELOAD": "libc.so.6"})
    equal([pathlib.Path(p).name.split(".so")[0] for p in done.stdout.strip().split(":")], ["libsonde-agent", "libc"],
          "preloaded")


@test
def run_names_a_program_that_cannot_be_started():
    done = run(SONDE, "run", "--", "./no-such-program", expect=1)
    equal(done.stderr, "sonde: cannot execute './no-such-program': No such file or directory\n", "stderr")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sonde top shows what the client measures and what a capture of the same seconds contains."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "faults"), str(HERE.parent / "faults" / "support")]
sys.dont_write_bytecode = True
import judge  # noqa: E402
import lab as faults  # noqa: E402
import services  # noqa: E402
from harness import SCRATCH, SONDE, WORKLOADS, Recorder, each, equal, main, need_program, require, run, test  # noqa: E402
from tops import Top  # noqa: E402

SECONDS = 9
WITHIN = 2.0  # seconds after which top shows a change
TICK = 1.2  # seconds between two views, on a busy host
PERCENTILES = ("p50", "p95", "p99")


@contextlib.contextmanager
def service(name):
    """A service of the fault lab under load: the fault, its port, and the lab."""
    fault = faults.load_fault(name)
    with services.Lab(WORKLOADS / "faults", SECONDS) as lab:
        yield fault, fault.start(lab), lab


def options(lab):
    return [word for pid in lab.pids for word in ("-p", pid)]


def monotonic(view):
    """The end of a view's interval on the clock of the records, in ns."""
    return view["time"] - (time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC))


def row_of(view, port):
    rows = [row for row in view["operations"] if f":{port}" in row["operation"]]
    require(len(rows) == 1, f"{len(rows)} rows of port {port}: {[row['operation'] for row in view['operations']]}")
    return rows[0]


def latencies_between(requests, begin, end):
    """Latencies of the requests that ended in an interval; requests: (end, latency)."""
    return sorted(latency for at, latency in requests if begin < at <= end)


def compare(row, latencies, interval, what, share, floor):
    """Rate and percentiles of a row are those of these latencies."""
    require(len(latencies) > 30, f"{what}: only {len(latencies)} requests")
    count = row["rate"] * interval / 1e9
    words = [f"{count:.0f} / {len(latencies)} requests"]
    wrong = abs(count - len(latencies)) > max(3, 0.02 * len(latencies))
    for name in PERCENTILES:
        want = judge.nearest_rank(latencies, int(name[1:]))
        words.append(f"{name} {row[name] / 1e6:.2f} / {want / 1e6:.2f} ms")
        wrong |= abs(row[name] - want) > max(share * want, floor)
    print(f"top / {what}: {', '.join(words)}")
    require(not wrong, f"top and {what} differ: {', '.join(words)}")


def requests_in(path, port):
    rows = run(SONDE, "query", "--json", path,
               f"SELECT end, duration FROM requests WHERE parent IS NULL AND entry LIKE '%:{port}'")
    return [(row["end"], row["duration"]) for row in json.loads(rows.stdout)]


@each("mutex_sleep", "epoll_loop")
def top_agrees_with_the_client_and_a_capture(name):
    """The numbers of the same five seconds, three times."""
    with service(name) as (fault, port, lab), Top(*options(lab)) as top, Recorder(*options(lab)) as recorder:
        top.recorder()
        sent = fault.client(lab)
        view = [view for view in top.views if view][-1]
        recorder.end()
    end = monotonic(view)
    row = row_of(view, port)
    client = [(at + latency, latency) for at, latency in sent]
    inside = (end - view["interval"], end)
    compare(row, latencies_between(client, *inside), view["interval"], "client", judge.TOLERANCE, judge.FLOOR)
    compare(row, latencies_between(requests_in(recorder.path, port), *inside), view["interval"], "capture", 0.01, 50_000)
    cause = row["causes"][0]["text"] if row["causes"] else ""
    print(cause)
    equal(judge.judge_cause(cause, fault.TRUTH, getattr(fault, "PARTLY", None)).word, "right", f"cause '{cause}'")


@test
def a_stopped_server_is_shown_within_two_seconds():
    with service("mutex_sleep") as (_, port, lab), Top("-a") as top:
        top.recorder()
        load = lab.start_load(port, "/cart", connections=4, pause=20)
        top.wait(lambda view: any(row["rate"] > 10 for row in view["operations"]), "requests are shown")
        for pid in lab.pids:
            os.kill(pid, signal.SIGSTOP)
        stopped = time.monotonic()
        try:
            view = top.next(lambda view: any(row.get("oldest", 0) > 5e8 for row in view["operations"]),
                            "requests in flight are shown", WITHIN + TICK)
            row = row_of(view, port)
            print(f"after {time.monotonic() - stopped:.1f} s: {row['in_flight']} in flight, "
                  f"oldest {row['oldest'] / 1e6:.0f} ms")
            later = row_of(top.next(lambda view: row_of(view, port)["p99"] > 3e8, "p99 has the requests in flight", 6), port)
            require("p99" in later["at_least"], f"p99 is not marked as a lower bound: {later}")
        finally:
            for pid in lab.pids:
                os.kill(pid, signal.SIGCONT)
            load.kill()


@test
def the_screen_shows_the_numbers_of_the_json():
    """In a terminal of 80 columns and 24 lines, which tmux provides."""
    need_program("tmux")
    with service("mutex_sleep") as (fault, port, lab), Top(*options(lab)) as top:
        top.recorder()
        socket = SCRATCH / "tmux"
        tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        command = " ".join([SONDE, "top", *map(str, options(lab))])
        run(*tmux, "new-session", "-d", "-x", "80", "-y", "24", command, env=os.environ | {"LC_ALL": "C.UTF-8"})
        try:
            fault.client(lab)
            screen = run(*tmux, "capture-pane", "-p").stdout
        finally:
            run(*tmux, "kill-server", expect=None)
        row = row_of([view for view in top.views if view][-1], port)
    print(screen)
    require(all(len(line) <= 80 for line in screen.splitlines()), "a line is too long")
    shown = [line for line in screen.splitlines() if f":{port}" in line]
    require(shown, f"no line of port {port}:\n{screen}")
    rate = float(re.search(r"(\d+(?:\.\d+)?)", shown[0].split(f":{port}")[1])[1])
    require(abs(rate - row["rate"]) <= 0.15 * row["rate"], f"rate on the screen {rate}, in JSON {row['rate']}")


@test
def a_replay_shows_what_a_capture_contains():
    """The last view of a replayed capture has the rate and percentiles of its last seconds."""
    path = HERE.parent.parent / "demo" / "demo.sonde"
    views = [json.loads(line) for line in run(SONDE, "top", "--json", path).stdout.splitlines()]
    require(views, "there are no views")
    total = sum(1 for _ in requests_in(path, ""))
    require(total > 0 or views[-1]["operations"], "the demo has no requests")
    shutil.rmtree(SCRATCH / "none", ignore_errors=True)


main()

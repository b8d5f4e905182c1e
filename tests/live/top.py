#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sonde top shows what the client measures and what a capture of the same seconds contains."""
import contextlib
import json
import os
import pathlib
import re
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "faults"), str(HERE.parent / "faults" / "support")]
sys.dont_write_bytecode = True
import judge  # noqa: E402
import lab as faults  # noqa: E402
import services  # noqa: E402
from harness import SCRATCH, SONDE, WORKLOADS, Recorder, each, equal, main, need_program, require, run, test, wait_until  # noqa: E402
from tops import Top, held_in_kernel, with_descendants  # noqa: E402

SECONDS = 7
WITHIN = 2.0  # seconds after which top shows a change
TICK = 1.2  # seconds between two views, on a busy host
PERCENTILES = ("p50", "p95", "p99")
EDGE = 2  # requests at the ends of an interval that can be in one list and not in the other
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


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


def around(latencies, value, edge):
    """The values next to a value: at the ends of an interval, two clocks can disagree about a request."""
    i = latencies.index(value)
    return latencies[max(0, i - edge)], latencies[min(len(latencies) - 1, i + edge)]


def compare(row, latencies, interval, what, share, floor):
    """Rate and percentiles of a row are those of these latencies."""
    require(len(latencies) > 30, f"{what}: only {len(latencies)} requests")
    count = row["rate"] * interval / 1e9
    words = [f"{count:.0f} / {len(latencies)} requests"]
    wrong = abs(count - len(latencies)) > max(3, 0.02 * len(latencies))
    for name in PERCENTILES:
        want = judge.nearest_rank(latencies, int(name[1:]))
        words.append(f"{name} {row[name] / 1e6:.2f} / {want / 1e6:.2f} ms")
        low, high = around(latencies, want, EDGE + abs(round(count) - len(latencies)))
        wrong |= not low - max(share * low, floor) <= row[name] <= high + max(share * high, floor)
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


@each("with_clients", "alone")
def a_stopped_server_is_shown(recorded):
    """Its requests are open, and stay so, even if nothing happens in the recorded processes any more."""
    with service("mutex_sleep") as (_, port, lab), Top(*["-a"] if recorded == "with_clients" else options(lab)) as top:
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
            last = row_of(top.next(lambda view: row_of(view, port)["rate"] == 0, "no request ends", 10), port)
            require(last["in_flight"] >= row["in_flight"] and last["oldest"] > row["oldest"], f"they are still open: {last}")
        finally:
            for pid in lab.pids:
                os.kill(pid, signal.SIGCONT)
            load.kill()


ROW = re.compile(r"\s*<?\d+ %\s+([\d.,]+)\s+\d+\s+>?([\d.]+) (\S+)\s+>?([\d.]+) (\S+)\s+>?([\d.]+) (\S+)")


def screen_rows(screen):
    """Rate and percentiles (ns) of each operation on a screen, and the line."""
    rows = []
    for line in screen.splitlines():
        if found := ROW.match(line):
            rate, *times = found.groups()
            values = [float(number) * UNITS[unit] for number, unit in zip(times[::2], times[1::2])]
            rows.append((float(rate.replace(",", "")), dict(zip(PERCENTILES, values)), line))
    return rows


@test
def the_screen_shows_the_service_in_a_terminal():
    """In 80 columns and 24 lines, which tmux provides; a second top writes JSON at the same time."""
    need_program("tmux")
    with service("mutex_sleep") as (fault, port, lab), Top(*options(lab)) as top:
        top.recorder()
        tmux = ["tmux", "-S", str(SCRATCH / "tmux"), "-f", "/dev/null"]
        command = " ".join([SONDE, "top", *map(str, options(lab))])
        run(*tmux, "new-session", "-d", "-x", "80", "-y", "24", command, env=os.environ | {"LC_ALL": "C.UTF-8"})
        try:
            pid = int(run(*tmux, "display-message", "-p", "#{pane_pid}").stdout)
            wait_until(lambda: any(map(held_in_kernel, with_descendants(pid))), "the top in the terminal records")
            fault.client(lab)
            screen = run(*tmux, "capture-pane", "-p").stdout
        finally:
            run(*tmux, "kill-server", expect=None)
        row = row_of([view for view in top.views if view][-1], port)
    print(screen)
    require(all(len(line) <= 80 for line in screen.splitlines()), "a line is too long")
    rate = next(rate for rate, _, line in screen_rows(screen) if f":{port}" in line)
    require(abs(rate - row["rate"]) <= 0.25 * row["rate"], f"rate on the screen {rate}, in JSON {row['rate']}")
    require(row["causes"] and "sleeps" in " ".join(screen.split("causes")[1].split()), "the cause is missing")


@test
def text_and_json_of_a_replay_agree():
    """A replayed capture shows the same numbers in both, and they are those of its last seconds."""
    path = HERE.parent.parent / "demo" / "demo.sonde"
    view = json.loads(run(SONDE, "top", "--json", path).stdout.splitlines()[-1])
    equal(view["requests"], len(requests_in(path, "%")), "requests of the last seconds")
    screen = run(SONDE, "top", "-n", "100", path).stdout.split("sonde top")[-1]
    rows = screen_rows(screen)
    equal(len(rows), len(view["operations"]), "operations on the screen")
    for (rate, times, _), row in zip(rows, view["operations"]):
        require(abs(rate - row["rate"]) <= 0.05 * row["rate"] + 0.5, f"rate {rate}, in JSON {row['rate']}")
        for name in PERCENTILES:
            require(abs(times[name] - row[name]) <= 0.05 * row[name], f"{name} {times[name]}, in JSON {row[name]}")


main()

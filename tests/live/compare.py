# SPDX-License-Identifier: Apache-2.0
"""A recording held against what the workload knows of itself; see workloads/truth.h."""
from harness import equal, require, seconds

OFF_CPU = "CQ"


def near(got, want, what, capture):
    """Within 1 %, or 50 us, and whatever the hypervisor took from both clocks."""
    slack = max(want * 0.01, 50_000) + capture.stolen
    require(abs(got - want) <= slack,
            f"{what}: {seconds(got)}, want {seconds(want)}, off by {seconds(got - want)}")


def is_blocked(i):
    return i["state"] not in "R" + OFF_CPU


def split(intervals):
    """Waits as lists of their one or two parts, and preemptions, as a recording shows them."""
    waits, preemptions, last = [], [], None
    for i in intervals:
        if is_blocked(i):
            waits.append([i])
        elif i["state"] in OFF_CPU:
            if last and is_blocked(last):
                waits[-1].append(i)
            elif i.get("preempted"):
                preemptions.append(i)
            else:
                waits.append([i])  # woken before it was off the CPU: the blocked part has no length
        last = i
    return waits, preemptions


def check_call(capture, tid, call, letter, fields):
    """One call: as many waits as the kernel counted, all of that letter, all inside. Returns them."""
    intervals = capture.within(tid, call["begin"], call["end"])
    where = f"thread {tid}, call at {call['begin']}"
    require(intervals, f"{where}: nothing recorded")
    waits, preemptions = split(intervals)
    shown = " ".join(f"{i['state']}({seconds(i['end'] - i['start'])})" for i in intervals)
    equal(len(waits), call["voluntary"], f"{where}: waits in {shown}")
    equal(len(preemptions), call["involuntary"], f"{where}: preemptions in {shown}")
    blocked = [w[0] for w in waits if is_blocked(w[0])]
    for i in blocked:
        require(call["begin"] <= i["start"] and i["end"] <= call["end"],
                f"{where}: {i} is not within {call['begin']} to {call['end']}")
        equal(i["state"], letter, f"{where}: state of {i}")
        for key, value in fields.items():
            require(i.get(key) in value if isinstance(value, (list, tuple, set)) else i.get(key) == value,
                    f"{where}: {key} of {i}, want {value!r}")
    return blocked


def check_calls(capture, track, letter, count=None, **fields):
    """All calls of a track. Fields: what every wait must say, a value or several that may be."""
    tid, calls = track["tid"], track["calls"]
    if count is not None:
        equal(len(calls), count, f"calls of {track['role']}")
    lists = [check_call(capture, tid, call, letter, fields) for call in calls]
    got = sum(i["end"] - i["start"] for blocked in lists for i in blocked)
    near(got, blocked_time(calls), f"{track['role']}: time in {letter}", capture)
    return lists


def blocked_time(calls):
    return sum(c["end"] - c["begin"] - c["cpu"] - c["delay"] for c in calls)


def check_releases(capture, waits, track, strangers=()):
    """Each wait's last part ended inside the other party's release, and by it.

    strangers: beginnings of the names of threads that may stand between the two.
    """
    by_task = 0
    equal(len(waits), len(track["calls"]), "waits and releases")
    for blocked, release in zip(waits, track["calls"]):
        if not blocked:
            continue  # released before it came to wait
        i = blocked[-1]
        if strangers and i.get("waker_comm", "").startswith(strangers):
            require(i["end"] >= release["begin"], f"{i} ends before its cause at {release['begin']}")
            continue
        by_task += 1
        equal(i.get("waker"), track["tid"], f"waker of {i}")
        require(release["begin"] <= i["end"] <= release["end"],
                f"{i} does not end within its release, {release['begin']} to {release['end']}")
    return by_task


def time_in(capture, tid, letters, begin, end):
    """How long the thread was in these states, within this time."""
    return sum(min(i["end"], end) - max(i["start"], begin)
               for i in capture.within(tid, begin, end) if i["state"] in letters)

# SPDX-License-Identifier: Apache-2.0
"""A recording held against what the workload knows of itself; see workloads/truth.h.

Some kernels keep a few events to themselves: there are virtual machines whose
own agent's threads are never seen to leave a CPU, nor to be interrupted on it.
Whoever was woken or got the CPU then has an interval that says `unseen`, or a
wait that nobody ended.  Calls with such a one are left out of the comparison;
if there are many of them, the test cannot be told here.
"""
from harness import Disturbed, equal, require, seconds

OFF_CPU = "CQ"


def near(got, want, what, capture, more=0):
    """Within 1 %, or 50 us, and whatever the hypervisor took from both clocks."""
    slack = max(want * 0.01, 50_000) + capture.stolen + more
    require(abs(got - want) <= slack,
            f"{what}: {seconds(got)}, want {seconds(want)}, off by {seconds(got - want)}")


def is_blocked(i):
    return i["state"] not in "R" + OFF_CPU


def split(intervals):
    """Waits as lists of their one or two parts, preemptions, and the number of those without length.

    A dump leaves out what has no length: a wait that ended before the thread
    was off its CPU shows only its second part, and two turns in a row are all
    that is left of a thread that got its CPU back at once.
    """
    waits, preemptions, unseen, last = [], [], 0, None
    for i in intervals:
        if is_blocked(i):
            waits.append([i])
        elif i["state"] == "R":
            unseen += bool(last and last["state"] == "R")
        elif last and is_blocked(last):
            waits[-1].append(i)
        elif i.get("preempted"):
            preemptions.append(i)
        else:
            waits.append([i])
        last = i
    return waits, preemptions, unseen


def is_clear(intervals):
    return not any(i.get("end_hidden") or (i.get("woken_by") == "none" and not i.get("unfinished")) for i in intervals)


def need_clear(count, total, what):
    if count < 0.8 * total:
        raise Disturbed(f"this kernel hides too much: {total - count} of {total} {what}")


def check_switches(intervals, call, where):
    """As many waits and preemptions as the kernel counted. Returns the waits' blocked parts."""
    waits, preemptions, unseen = split(intervals)
    shown = " ".join(f"{i['state']}({seconds(i['end'] - i['start'])})" for i in intervals[:20])
    equal(len(waits) + len(preemptions) + unseen, call["voluntary"] + call["involuntary"],
          f"{where}: switches in {shown}")
    require(len(waits) <= call["voluntary"] and len(preemptions) <= call["involuntary"],
            f"{where}: {len(waits)} waits, {call['voluntary']} by the kernel, in {shown}")
    return [w[0] for w in waits if is_blocked(w[0])]


def check_call(capture, tid, call, letter, fields):
    """One call: its waits are all of that letter and all inside. Returns them, None if not clear."""
    intervals = capture.within(tid, call["begin"], call["end"])
    where = f"thread {tid}, call at {call['begin']}"
    require(intervals, f"{where}: nothing recorded")
    if not is_clear(intervals):
        return None
    blocked = check_switches(intervals, call, where)
    for i in blocked:
        require(call["begin"] <= i["start"] and i["end"] <= call["end"],
                f"{where}: {i} is not within {call['begin']} to {call['end']}")
        equal(i["state"], letter, f"{where}: state of {i}")
        for key, value in fields.items():
            allowed = value if isinstance(value, tuple) else (value,)
            require(i.get(key) in allowed, f"{where}: {key} of {i}, want {value!r}")
    return blocked


def check_calls(capture, track, letter, count=None, **fields):
    """All calls of a track. Fields: what every wait must say, a value or several that may be.

    Returns for each call the blocked parts of its waits, or None.
    """
    calls = track["calls"]
    if count is not None:
        equal(len(calls), count, f"calls of {track['role']}")
    lists = [check_call(capture, track["tid"], call, letter, fields) for call in calls]
    need_clear(len(calls) - lists.count(None), len(calls), "calls")
    timed = [(call, blocked) for call, blocked in zip(calls, lists) if blocked is not None and not call["moved"]]
    near(sum(i["end"] - i["start"] for _, blocked in timed for i in blocked),
         sum(blocked_time(call) for call, _ in timed), f"{track['role']}: time in {letter}", capture)
    return lists


def blocked_time(call):
    return call["end"] - call["begin"] - call["cpu"] - call["delay"]


def check_releases(waits, track, strangers=()):
    """Each wait's last part ended inside the other party's release, and by it.

    strangers: beginnings of the names of threads that may stand between the two.
    Returns how often none did.
    """
    direct = 0
    equal(len(waits), len(track["calls"]), "waits and releases")
    for blocked, release in zip(waits, track["calls"]):
        if not blocked:
            continue  # unknown, or released before it came to wait
        i = blocked[-1]
        if strangers and i.get("waker_comm", "").startswith(strangers):
            require(i["end"] >= release["begin"], f"{i} ends before its cause at {release['begin']}")
            continue
        direct += 1
        equal(i.get("waker_tid"), track["tid"], f"waker of {i}")
        require(release["begin"] <= i["end"] <= release["end"],
                f"{i} does not end within its release, {release['begin']} to {release['end']}")
    return direct


def check_times(capture, tid, call, more=0, **times):
    """How long the thread was in states, by letters: check_times(..., R=ns, CQ=ns)."""
    begin, end = call["begin"], call["end"]
    intervals = capture.within(tid, begin, end)
    hidden = sum(i["end"] - i["start"] for i in intervals if i.get("end_hidden"))
    need_clear(end - begin - hidden, end - begin, "ns")
    for letters, want in times.items():
        got = sum(min(i["end"], end) - max(i["start"], begin) for i in intervals if i["state"] in letters)
        near(got, want, f"time in {letters}", capture, hidden + more)

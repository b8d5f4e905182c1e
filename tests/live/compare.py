# SPDX-License-Identifier: Apache-2.0
"""Compare a recording with what the workload measured itself; see workloads/truth.h.

Some kernels hide events: on some virtual machines, the context switches of the
hypervisor's guest agent emit no tracepoints.  A thread that is woken or scheduled
then has an interval with `end_hidden`, or a wait without a waker.  Calls with such
an interval are excluded from the comparison; if there are too many, the test is
skipped.
"""
from harness import Disturbed, equal, require, seconds

OFF_CPU = "CQ"


# A wait ends with the wakeup in our records, in the kernel's accounting when the thread is on a
# run queue: other probes and the lock of that queue are in between.
ACCOUNTING_GAP = 10_000


def near(got, want, what, capture, more=0, waits=0):
    """Require equality within 1 % or 50 us or the gap of each wait, plus the steal time."""
    slack = max(want * 0.01, 50_000, waits * ACCOUNTING_GAP) + capture.stolen + more
    require(abs(got - want) <= slack,
            f"{what}: {seconds(got)}, want {seconds(want)}, off by {seconds(got - want)}")


def is_blocked(i):
    return i["state"] not in "R" + OFF_CPU


def split(intervals):
    """Waits as lists of their one or two parts, preemptions, and the number of waits without length.

    A dump omits intervals without length: a wait that ended before the switch-out
    has only its second part, and two consecutive slices remain of a thread that
    got its CPU back at once.
    """
    waits, preemptions, hidden, last = [], [], 0, None
    for i in intervals:
        if is_blocked(i):
            waits.append([i])
        elif i["state"] == "R":
            hidden += bool(last and last["state"] == "R")
        elif last and is_blocked(last):
            waits[-1].append(i)
        elif i.get("preempted"):
            preemptions.append(i)
        else:
            waits.append([i])
        last = i
    return waits, preemptions, hidden


def is_clear(intervals):
    return not any(i.get("end_hidden") or (i.get("woken_by") == "none" and not i.get("unfinished")) for i in intervals)


def require_clear(count, total, what):
    if count < 0.8 * total:
        raise Disturbed(f"this kernel hides too much: {total - count} of {total} {what}")


def check_switches(intervals, call, where):
    """As many waits and preemptions as the kernel counted. Returns the waits' blocked parts."""
    waits, preemptions, hidden = split(intervals)
    shown = " ".join(f"{i['state']}({seconds(i['end'] - i['start'])})" for i in intervals[:20])
    equal(len(waits) + len(preemptions) + hidden, call["voluntary"] + call["involuntary"],
          f"{where}: switches in {shown}")
    require(len(waits) <= call["voluntary"] and len(preemptions) <= call["involuntary"],
            f"{where}: {len(waits)} waits, {call['voluntary']} by the kernel, in {shown}")
    return [w[0] for w in waits if is_blocked(w[0])]


def check_call(capture, tid, call, letter, fields):
    """Check that the waits of a call have this letter and lie inside. Returns them; None if events are hidden."""
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
    """Check all calls of a track. Fields: required values of each wait, or tuples of allowed values.

    Returns for each call the blocked parts of its waits, or None.
    """
    calls = track["calls"]
    if count is not None:
        equal(len(calls), count, f"calls of {track['role']}")
    lists = [check_call(capture, track["tid"], call, letter, fields) for call in calls]
    require_clear(len(calls) - lists.count(None), len(calls), "calls")
    timed = [(call, blocked) for call, blocked in zip(calls, lists) if blocked is not None and not call["moved"]]
    waits = [i for _, blocked in timed for i in blocked]
    near(sum(i["end"] - i["start"] for i in waits), sum(blocked_time(call) for call, _ in timed),
         f"{track['role']}: time in {letter}", capture, waits=len(waits))
    return lists


def blocked_time(call):
    return call["end"] - call["begin"] - call["cpu"] - call["delay"]


def check_releases(waits, track, strangers=()):
    """Check that the other party ended each wait, during its release.

    strangers: name prefixes of threads that can forward the wakeup.
    Returns the number of direct wakeups.
    """
    direct = 0
    equal(len(waits), len(track["calls"]), "waits and releases")
    for blocked, release in zip(waits, track["calls"]):
        if not blocked:
            continue  # unknown, or released before it waited
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
    """Check the time in states, by letters: check_times(..., R=ns, CQ=ns)."""
    begin, end = call["begin"], call["end"]
    intervals = capture.within(tid, begin, end)
    hidden = sum(i["end"] - i["start"] for i in intervals if i.get("end_hidden"))
    require_clear(end - begin - hidden, end - begin, "ns")
    for letters, want in times.items():
        got = sum(min(i["end"], end) - max(i["start"], begin) for i in intervals if i["state"] in letters)
        near(got, want, f"time in {letters}", capture, more=hidden + more)

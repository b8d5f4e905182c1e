#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Critical paths: the threads waited for, their states and times, down to the final operation.

Each party of a chain prints what it did in each round (workloads/chain.c), so the
path of the first party through all others is known, step by step.
"""
import contextlib
import json
import pathlib

import invariants
import schema
from compare import blocked_time, is_clear, near, require_clear
from harness import (Background, Disturbed, SCRATCH, Recorder, SONDE, each, equal, main, need_feature, need_program, record,
                     require, run, test, wait_until, workload)

LETTER = {"mutex": "L", "shared": "L", "tcp": "N", "unix": "I", "pipe": "I",
          "sleep": "T", "compute": None, "compete": None, "direct": "D", "fsync": "D"}
ACCOUNT = 20_000  # ns by which the kernel's runtime accounting can differ from the switches
COLUMNS = 80
ROUNDS = 5
REST, SPAN = 3_000_000, 10_000_000  # ns that a party rests, that a operation takes


def analyse(command, capture, *args):
    """The JSON of `sonde path` or `explain`, checked against its schema."""
    said = json.loads(run(SONDE, command, "--json", *args, capture.path).stdout)
    wrong = schema.check(said, schema.load(command))
    require(not wrong, f"{command} violates its schema:\n  " + "\n  ".join(wrong))
    return said


def within(capture, begin, end):
    """Options for a time range."""
    start = capture.info["start"]
    return "--from", f"{begin - start}ns", "--to", f"{end - start}ns"


class Chain:
    """A recorded chain, the output of each party, and the path of the first party in each round."""

    def __init__(self, operation, *links, options=(), count=ROUNDS):
        self.operation, self.links = operation.split("=")[0], links
        self.capture, self.truth = record(*workload("chain", operation, SCRATCH, count, SPAN // 1_000_000, *links), options=options)
        wrong = invariants.check(SONDE, self.capture.path, self.capture.records)
        require(not wrong, "paths are inconsistent:\n  " + "\n  ".join(wrong))
        self.last = len(links)
        self.parties = [self.track(k, "operation" if k == self.last else "wait") for k in range(self.last + 1)]
        self.tid = self.parties[0]["tid"]
        rounds = range(len(self.parties[0]["calls"]))
        self.rounds = [r for r in rounds if self.is_clear(r)]
        require_clear(len(self.rounds), len(rounds), "rounds")

    def track(self, party, what):
        return self.truth.track(f"{'ABCDEF'[party]}.{what}")

    def window(self, r):
        call = self.parties[0]["calls"][r]
        return call["begin"], call["end"]

    def is_clear(self, r):
        """Whether the kernel hid no events of the parties."""
        return all(is_clear(self.capture.within(p["tid"], *self.window(r))) for p in self.parties)

    def path(self, r):
        return analyse("path", self.capture, "--thread", self.tid, *within(self.capture, *self.window(r)))

    def account(self, r):
        return analyse("explain", self.capture, "--thread", self.tid, *within(self.capture, *self.window(r)))[0]

    def text(self, r):
        return run(SONDE, "explain", "--thread", self.tid, *within(self.capture, *self.window(r)),
                   self.capture.path).stdout

    def file(self):
        return "/".join(self.truth["path"].split("/")[-2:])


# Each step

def parts(steps, depth, call):
    """The steps of a depth that overlap a call, and for how long."""
    for s in steps:
        time = min(s["end"], call["end"]) - max(s["start"], call["begin"])
        if s["depth"] == depth and time > 0:
            yield s, time


def check_part(chain, steps, depth, track, r, letter, is_leaf):
    """Check the path of a party during one of its calls: thread, states and their times."""
    call, found = track["calls"][r], {"R": 0, "C": 0, letter: 0}
    where = f"round {r}, {track['role']}"
    for s, time in parts(steps, depth, call):
        equal(s["tid"], track["tid"], f"{where}: thread of step {s['id']}")
        require(s["state"] in found, f"{where}: {s['state']} in step {s['id']}, want {letter}")
        if s["state"] == letter:
            equal(s["leaf"], is_leaf, f"{where}: whether step {s['id']} is a leaf")
        found[s["state"]] += time
    equal(sum(found.values()), call["end"] - call["begin"], f"{where}: time of all steps")
    check_times(chain.capture, call, found, letter, where)
    if letter == "T":
        check_sleep(call, found, REST if track["role"].endswith("rest") else SPAN, where)


def check_times(capture, call, found, letter, where):
    """Compare the times of a call's states with the thread's own measurements.

    These are limited.  A thread woken from another CPU waits for a CPU in our records, while the
    kernel's accounting counts it as blocked until the interrupt arrives.  And the CPU clock of a
    thread stops while an interrupt, the hypervisor or a thread with hidden switches has its CPU.
    So the measurements are only an upper bound of a wait; the lower bound is the requested time of a
    sleep (check_sleep), or the release by the next party (check_release).
    """
    more = ACCOUNT * max(call["voluntary"] + call["involuntary"] - 1, 0)
    if letter is None:
        most = call["end"] - call["begin"] - call["delay"]
        between(found["R"], call["cpu"], most, f"{where}: time in R", capture, more)
    elif not call["moved"]:
        want = blocked_time(call)
        hidden = max(call["delay"] - found["C"], 0)
        away = max(found["R"] - call["cpu"] - hidden, 0)
        lag = min(max(want - away - found[letter], 0), found["C"])
        near(found[letter] + away + lag, want, f"{where}: time in {letter}", capture, more)


def between(got, least, most, what, capture, more):
    """Check the lower bound by a clock that can stop, and the upper bound by another one."""
    near(got, min(max(got, least), max(least, most)), what, capture, more)


def check_sleep(call, found, least, where):
    """A sleep is never shorter than requested."""
    if not call["involuntary"]:
        require(found["T"] >= 0.99 * least, f"{where}: {found['T']} ns in T, at least {least} were slept")


def check_release(chain, steps, depth, r):
    """The wait of the previous party ends during the release by this party."""
    call = chain.track(depth, "release")["calls"][r]
    waits = [s for s in steps if s["depth"] == depth - 1 and not s["leaf"]]
    end = max(s["end"] for s in waits)
    last = max((s for s in steps if s["depth"] == depth), key=lambda s: s["end"])
    require(call["begin"] <= end, f"round {r}: step of depth {depth - 1} ends at {end}, before its release")
    equal(last["end"], end, f"round {r}: end of the last step of depth {depth}")
    if not last.get("in_transit"):
        require(end <= call["end"], f"round {r}: step of depth {depth - 1} ends at {end}, after its release")
        equal(last["state"], "R", f"round {r}: state of the releasing thread at depth {depth}")


def check_path(chain, r):
    steps = chain.path(r)
    begin, end = chain.window(r)
    wrong = list(invariants.tree_complaints(steps, begin, end))
    require(not wrong, f"round {r}: " + "\n  ".join(wrong))
    equal(max(s["depth"] for s in steps), chain.last, f"round {r}: depth of the path")
    for depth, party in enumerate(chain.parties):
        if depth < chain.last:
            check_part(chain, steps, depth, party, r, LETTER[chain.links[depth]], False)
        else:
            check_part(chain, steps, depth, party, r, LETTER[chain.operation], True)
        if depth:
            check_part(chain, steps, depth, chain.track(depth, "rest"), r, "T", True)
            check_release(chain, steps, depth, r)
    return steps


# The account

def check_sums(account):
    wrong = list(invariants.account_complaints(account))
    require(not wrong, "the account does not add up:\n  " + "\n  ".join(wrong))


def largest(account, parent, tid, state):
    """The largest child of a node for a thread in a state."""
    nodes = [n for n in account["nodes"]
             if n["parent"] == parent and n.get("tid") == tid and n.get("state") == state]
    require(nodes, f"nothing under node {parent} of thread {tid} in {state}: {account['nodes']}")
    return max(nodes, key=lambda n: n["duration"])


def check_link(chain, node, depth):
    """A wait names its object and the thread waited for."""
    kind, letter, party = chain.links[depth], "ABCDEF"[depth + 1], chain.parties[depth + 1]
    things = {"mutex": "futex", "shared": "futex", "unix": "unix", "pipe": "pipe", "tcp": "inet"}
    main = next(name for name, other in zip("ABCDEF", chain.parties) if other["tid"] == party["pid"])
    who = {"tid": party["tid"], "pid": party["pid"], "comm": "party " + letter, "process": "party " + main}
    words = [f"{who['comm']} ({who['tid']}"]
    equal(node.get("object_type"), things[kind], "what is waited for")
    equal(node.get("waited_for"), who, "waited-for thread")
    if kind == "tcp":
        equal(node.get("peer"), f"127.0.0.1:{chain.truth[letter + '.port']}", "peer")
        words.append(node["peer"])
    else:
        equal(node["waker"], who, "waker")
    for word in words:
        require(word in node["text"], f"'{node['text']}' does not say {word}")


def check_account(chain, r):
    """From the wait of the first party down to the operation; returns the node of that."""
    account = chain.account(r)
    check_sums(account)
    require(account["explained_time"] >= 0.99 * account["duration"], f"explained: {account['explained_time']} of {account['duration']}")
    node = {"id": 0}
    for depth, kind in enumerate(chain.links):
        node = largest(account, node["id"], chain.parties[depth]["tid"], LETTER[kind])
        check_link(chain, node, depth)
    operation = largest(account, node["id"], chain.parties[-1]["tid"], LETTER[chain.operation] or "R")
    if chain.operation in ("direct", "fsync"):
        equal(operation.get("syscall"), {"direct": "pread64", "fsync": "fsync"}[chain.operation], "call")
        equal(operation.get("object_name"), chain.file(), "name of the file")
        require(chain.file() in operation["text"], f"'{operation['text']}' does not name the file")
    return account, operation


def check_text(chain, r, account):
    """Check the text output: its width, and the cause at its end."""
    text = chain.text(r)
    wide = [line for line in text.splitlines() if len(line) > COLUMNS]
    require(not wide, f"too wide: {wide}")
    cause = account["causes"][0]["text"]
    require(cause in unwrapped(text), f"'{cause}' is not in:\n{text}")


def unwrapped(text):
    return " ".join(text.split())


@each(("mutex_sleep", "sleep", "mutex"), ("mutex_compute", "compute", "mutex"),
      ("mutex_direct", "direct", "mutex"), ("mutex_fsync", "fsync", "mutex"),
      ("shared_mutex", "sleep", "shared"), ("tcp", "sleep", "tcp"), ("unix", "fsync", "unix"),
      ("pipe", "compute", "pipe"), ("lock_of_a_client", "sleep", "mutex", "tcp"),
      ("two_servers", "sleep", "tcp", "tcp"), ("three", "direct", "shared", "tcp", "mutex"),
      ("four", "compute", "tcp", "mutex", "unix", "shared"),
      ("five", "fsync", "mutex", "tcp", "unix", "pipe", "shared"),
      ("five_processes", "sleep", "shared", "shared", "shared", "shared", "shared"),
      ("five_servers", "compute", "tcp", "tcp", "tcp", "tcp", "tcp"))
def a_chain_is_followed_to_its_end(_, operation, *links):
    need_feature("messages")
    chain = Chain(operation, *links)
    for r in chain.rounds:
        check_path(chain, r)
        account, _ = check_account(chain, r)
        check_text(chain, r, account)


# Other threads on the CPU or the disk

@contextlib.contextmanager
def hog():
    """A process that competes for the second CPU all the time."""
    need_program("taskset")
    with Background(["taskset", "-c", "1", *workload("spin", 60000, "hog")], gate=False) as process:
        wait_until(lambda: comm(process.pid) == "hog", "the hog is there")
        yield process


def comm(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def time_of(node, pid):
    return sum(share["duration"] for share in node.get("shared_with", []) if share.get("pid") == pid)


def check_hog(chain, beside, r):
    """While the last party computes, the hog's CPU time matches its own measurement. Returns it."""
    call, tid = chain.parties[-1]["calls"][r], chain.parties[-1]["tid"]
    account = analyse("explain", chain.capture, "--thread", tid,
                      *within(chain.capture, call["begin"], call["end"]))[0]
    wait, more = largest(account, 0, tid, "C"), ACCOUNT * call["involuntary"]
    time = time_of(wait, beside.pid)
    between(time, chain.truth["rival"][r], call["delay"], f"round {r}: time of the hog", chain.capture, more)
    near(wait["duration"], call["delay"], f"round {r}: time in C", chain.capture, more)
    if wait["shared_with"][0].get("pid") == beside.pid:
        require(f"hog ({beside.pid}) ran for" in wait["text"], f"'{wait['text']}' does not name the hog")
    return time


@each(("alone",), ("under_a_lock", "mutex"), ("under_two_servers", "tcp", "tcp"))
def a_hog_is_named(_, *links):
    with hog() as beside:
        chain = Chain(f"compete={beside.pid}", *links)
    rounds = [r for r in chain.rounds if chain.truth["rival"][r] > 1e6]
    if not rounds:
        raise Disturbed("others kept the hog from its CPU")
    for r in rounds:
        check_path(chain, r)
        time = check_hog(chain, beside, r)
        account, operation = check_account(chain, r)
        wait = largest(account, operation["parent"], operation["tid"], "C")
        require(time_of(wait, beside.pid) >= time, f"round {r}: the hog has less time in the whole than in a part")
        check_text(chain, r, account)


@test
def the_queue_of_a_disk_is_shared():
    need_feature("block")
    with Background(workload("chain", "direct", SCRATCH, 211)) as beside:  # which reads all the time
        beside.ready()
        beside.go()
        chain = Chain("direct", "mutex", options=["--block"])
    shares = [share for r in chain.rounds for share in check_account(chain, r)[1].get("shared_with", [])]
    named = [share for share in shares if share.get("pid") == beside.pid]
    require(named, f"no step names the other user of the disk, {beside.pid}: {shares}")
    equal({share["name"] for share in named}, {"party A"}, "its name")


@test
def stacks_show_the_code_location():
    need_feature("kernel symbols")
    chain = Chain("sleep", "mutex", "tcp", options=["--stacks=1ms"])
    for r in chain.rounds:
        account, operation = check_account(chain, r)
        lock = largest(account, 0, chain.tid, "L")
        require("wait_for_next" in lock["stack"], f"where it waits: {lock['stack']}")
        require("release_before" in lock["waker_stack"], f"where it is released: {lock['waker_stack']}")
        require("in wait_for_next()" in lock["text"], f"'{lock['text']}' does not contain the function")
        require("do_operation" in operation["stack"], f"where the last one sleeps: {operation['stack']}")


@test
def samples_name_the_function():
    need_feature("samples")
    chain = Chain("compute", "mutex", options=["--profile=1999"])
    for r in chain.rounds:
        _, operation = check_account(chain, r)
        functions = {share["name"]: share["duration"] for share in operation["functions"]}
        total = sum(functions.values())
        require(abs(total - operation["duration"]) <= len(functions), f"{total} of {operation['duration']} ns are in functions")
        require("do_compute()" in operation["text"] or "clock" in operation["text"], f"'{operation['text']}' names no function")


# Independence

@test
def the_path_of_a_part_is_a_part_of_the_path():
    chain = Chain("sleep", "mutex", "tcp")
    whole = analyse("path", chain.capture, "--thread", chain.tid)
    for r in chain.rounds:
        begin, end = chain.window(r)
        leaves = [(max(s["start"], begin), min(s["end"], end), s["tid"], s["state"]) for s in whole
                  if s["leaf"] and s["end"] > begin and s["start"] < end]
        part = [(s["start"], s["end"], s["tid"], s["state"]) for s in chain.path(r) if s["leaf"]]
        equal(part, leaves, f"round {r}: leaves")


@test
def unrelated_threads_do_not_change_paths():
    """Two unrelated chains, recorded at once by two recorders."""
    with Background(workload("handoff", "tcp", 101)) as stranger:
        stranger.ready()
        with Recorder("-p", stranger.pid, "--stacks=1ms", name="other.sonde") as other:
            stranger.go()
            chain = Chain("fsync", "mutex", "tcp", options=["--stacks=1ms"])
            stranger.truth()
    beside = other.capture()
    for a, b in ((chain.capture, beside), (beside, chain.capture)):
        wrong = invariants.check_beside(SONDE, a.path, [b.path], a.records)
        require(not wrong, "\n  ".join(wrong))


main()

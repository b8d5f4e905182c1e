#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare a capture with the logs: check_capture.py DIRECTORY...

Every send and receive that a service logged must be in the capture, with the same socket,
thread, time and bytes.  Both sides of a message must have the same position in the byte
stream.  A thread or process that was created for a request must have the thread that read
the request as its parent.
"""
import bisect
import collections
import json
import os
import subprocess
import sys

from truth import Truth

SONDE = os.environ.get("SONDE", "sonde")
WRAP = 1 << 32
# Scenarios for a test of a few seconds: all ways to send, split and hand off messages, and third-party servers.
FEW = ("spawn-8", "pool-by-pipe-8", "thread-by-writev-8", "thread-by-sendfile-8", "thread-by-splice-8",
       "loop-pieces-8", "thread-pipeline-8", "loop-warm-8", "thread-ipv6-8", "thread-unix-8", "stores-loop-8")


def dump(path):
    process = subprocess.Popen([SONDE, "dump", "--json", path], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        yield json.loads(line)
    if process.wait():
        raise RuntimeError(f"sonde dump {path} failed")


class Capture:
    """Messages by socket and direction, parents of created threads, waits by thread, lost records."""

    def __init__(self, path):
        self.messages = collections.defaultdict(list)
        self.parents, self.waits = {}, collections.defaultdict(list)
        self.lost = 0
        for r in dump(path):
            if r["kind"] == "message":
                self.messages[r["object_id"], r["direction"]].append(r)
            elif r["kind"] == "task" and r["event"] == "new":
                self.parents[r["tid"]] = r["parent_tid"]
            elif r["kind"] == "interval" and "waker_tid" in r:
                self.waits[r["tid"]].append(r)
            elif r["kind"] == "loss":
                self.lost += r["count"]

    def between(self, inode, direction, begin, end):
        found = self.messages[inode, direction]
        time = lambda m: m["time"]  # noqa: E731
        return found[bisect.bisect_left(found, begin, key=time):bisect.bisect_right(found, end, key=time)]

    def byte(self, inode, direction, offset):
        """The message with the byte at this offset from the first recorded one, and its position in the stream."""
        for m in self.messages[inode, direction]:
            if offset < m["bytes"]:
                return m, (m["position"] - m["bytes"] + offset) % WRAP
            offset -= m["bytes"]
        return None, None


class Comparison:
    def __init__(self, directory):
        self.truth = Truth(directory)
        self.capture = Capture(self.truth.directory / "capture.sonde")
        self.count = collections.Counter()
        self.wrong = []
        self.read_before = collections.Counter()  # bytes of earlier requests, by socket
        for handling in sorted((h for h in self.truth.handlings if h.log), key=lambda h: h.log["replied"]):
            self.check(handling)

    def report(self, what, words):
        self.count[what] += 1
        self.wrong.append(words)

    def check(self, handling):
        log = handling.log
        self.check_request(handling, log)
        self.check_sent(f"the reply of {handling}", log["inode"], log["replier"], log["gave"],
                        log["replying"], log["replied"])
        for i, call in enumerate(handling.calls):
            name = f"call {i} of {handling}"
            self.check_sent(name, call["inode"], call["tid"], call["gave"], call["sending"], call["sent"])
            self.check_reply(name, call)
        if handling.service["model"] in ("fork", "spawn"):
            self.count["created"] += 1
            if self.capture.parents.get(log["worker"]) != log["reader"]:
                self.report("not created", f"{handling}: thread {log['worker']} has a wrong parent")
        elif log["worker"] != log["reader"]:
            self.count["handoffs"] += 1
            self.count["woken"] += any(w["waker_tid"] == log["reader"] and log["read"] <= w["end"] <= log["replied"]
                                       for w in self.capture.waits[log["worker"]])

    def check_request(self, handling, log):
        """The reader received its first byte, at the position where the caller sent it."""
        offset = self.read_before[log["inode"]]
        self.read_before[log["inode"]] += log["got"]
        message, position = self.capture.byte(log["inode"], "receive", offset)
        self.count["receives"] += 1
        if not message:
            self.report("missed receives", f"the receive of {handling} was not recorded")
        elif message["tid"] != log["reader"] or message["time"] > log["read"]:
            self.report("wrong receives", f"the recorded receive of {handling} is by {message['tid']} at "
                       f"{message['time']}, not by {log['reader']} before {log['read']}")
        elif handling.parent and handling.parent.log and log["local"] != "unix":
            self.check_pair(handling, position)

    def check_pair(self, handling, position):
        call = handling.parent.calls[int(handling.hop.rsplit(".", 1)[1])]
        sent = self.capture.between(call["inode"], "send", call["sending"], call["sent"])
        self.count["pairs"] += 1
        if not sent or (sent[0]["position"] - sent[0]["bytes"]) % WRAP != position:
            self.report("wrong pairs", f"{handling}: sent and received at different positions")

    def check_sent(self, name, inode, tid, size, begin, end):
        found = [m for m in self.capture.between(inode, "send", begin, end) if m["tid"] == tid]
        self.count["sends"] += 1
        if not found:
            self.report("missed sends", f"the send of {name} was not recorded")
        elif sum(m["bytes"] for m in found) != size:
            self.report("wrong sends", f"{name} has {size} bytes, not {[m['bytes'] for m in found]}")

    def check_reply(self, name, call):
        found = [m for m in self.capture.between(call["inode"], "receive", call["sending"], call["replied"])
                 if m["tid"] == call["tid"]]
        self.count["receives"] += 1
        if not found:
            self.report("missed receives", f"the receive of the reply to {name} was not recorded")
        elif sum(m["bytes"] for m in found) != call["got"]:
            self.report("wrong receives",
                       f"the reply to {name} has {call['got']} bytes, not {[m['bytes'] for m in found]}")


class Table:
    """Prints a line for each scenario."""

    COLUMNS = ("sends", "missed sends", "wrong sends", "receives", "missed receives", "wrong receives", "pairs",
               "wrong pairs", "created", "not created", "handoffs", "woken")

    def __init__(self):
        self.wrong = 0
        print(f"{'scenario':28}", *(f"{c.replace('receives', 'recv'):>11}" for c in self.COLUMNS), f"{'lost':>6}")

    def add(self, directory):
        c = Comparison(directory)
        print(f"{c.truth.name:28}", *(f"{c.count[name] or '':>11}" for name in self.COLUMNS),
              f"{c.capture.lost or '':>6}", flush=True)
        for words in c.wrong[:3]:
            print("   ", words)
        self.wrong += len(c.wrong)

    def end(self):
        print(f"{self.wrong} errors" if self.wrong else "all messages were recorded")
        return 1 if self.wrong else 0


def main():
    table = Table()
    for directory in sys.argv[1:]:
        table.add(directory)
    return table.end()


if __name__ == "__main__":
    sys.exit(main())

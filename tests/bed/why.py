#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Show the events before a call with a wrong or missing parent: why.py DIRECTORY [COUNT [FIRST]]

For some errors that check_requests.py finds in a directory of `bed.py --keep`: the messages, waits
and wakeups of the calling process until the call, in µs, each message with its request from the
logs.
"""
import collections
import pathlib
import sys

import check_capture
import check_requests
from truth import Truth

BEFORE = 3_000_000  # ns before the call
AFTER = 100_000  # ns after it


class MessageOwners:
    """The requests of messages, by socket and time, from the logs."""

    def __init__(self, truth):
        self.times = collections.defaultdict(list)
        for h in truth.handlings:
            if h.log:
                _, call = truth.calls[h.id, h.hop]
                self.times[h.log["inode"]].append((call["sending"], h.end, f"{h.id}/{h.hop} served"))
            for i, call in enumerate(h.calls):
                self.times[call["inode"]].append((call["sending"], call["replied"], f"{h.id}/{h.hop}.{i} called"))

    def name(self, record):
        return next((name for begin, end, name in self.times[record.get("object_id")]
                     if begin <= record["time"] <= end), "")


def describe(record, begin, owners):
    """A record as text, or None if it is of no interest."""
    def at(time):
        return f"{(time - begin) / 1000:.1f}"

    if record["kind"] == "message":
        return (f"{record['direction']} {record['bytes']} {record.get('local')} - {record.get('peer')}  "
                f"{owners.name(record)}")
    if record["kind"] == "socket_state" and record["new_state"] == "SYN_SENT":
        return f"connect to {record['peer']}"
    if record["kind"] == "interval" and "waker_tid" in record:
        signal = " (condition variable)" if record.get("condvar") else ""
        return (f"waited {record['state']} in {record.get('syscall')} {record.get('object_type', '')}{signal} from "
                f"{at(record['start'])}, woken {at(record['end'])} by {record['woken_by']} {record['waker_tid']}")
    if record["kind"] == "task" and record["event"] == "new":
        return f"created by {record['parent_tid']}"
    return None


def show(records, owners, handling, truth):
    _, call = truth.calls[handling.id, handling.hop]
    begin = max(call["sending"] - BEFORE, handling.parent.begin - AFTER)
    for r in records:
        shown = begin <= r["time"] <= call["sent"] + AFTER and r.get("pid") == handling.parent.pid
        text = describe(r, begin, owners) if shown else None
        if text:
            print(f"{(r['time'] - begin) / 1000:12.1f} {r['tid']:8}  {text}")


def main():
    directory = pathlib.Path(sys.argv[1])
    count, first = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 1), (3, 0)))
    truth = Truth(directory)
    comparison = check_requests.Comparison(truth, check_requests.find_requests(directory / "capture.sonde"))
    records, owners = list(check_capture.dump(directory / "capture.sonde")), MessageOwners(truth)
    for reason in [r for r in comparison.reasons if r[2].parent][first:first + count]:
        print(comparison.explain(*reason))
        show(records, owners, reason[2], truth)


if __name__ == "__main__":
    main()

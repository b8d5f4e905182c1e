#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What there was to see where a parent was missed: why.py DIRECTORY [COUNT [FIRST]]

For some of the errors that check_requests.py finds in a directory that bed.py kept:
what the process that asked sent, received, waited for and was woken by until it
asked, in µs, with what the logs know and sonde does not: whose message it was.
"""
import collections
import pathlib
import sys

import check_capture
import check_requests
from truth import Truth

BEFORE = 3_000_000  # ns that are shown
BEHIND = 100_000


class Whose:
    """To which request the messages of a socket belong, by the logs."""

    def __init__(self, truth):
        self.times = collections.defaultdict(list)
        for h in truth.handlings:
            if h.log:
                _, call = truth.calls[h.id, h.hop]
                self.times[h.log["inode"]].append((call["sending"], h.end, f"{h.id}/{h.hop} here"))
            for i, call in enumerate(h.calls):
                self.times[call["inode"]].append((call["sending"], call["answered"], f"{h.id}/{h.hop}.{i} there"))

    def name(self, record):
        return next((name for begin, end, name in self.times[record.get("object_id")]
                     if begin <= record["time"] <= end), "")


def words(record, begin, whose):
    """A record in a few words, or None if it tells nothing."""
    def at(time):
        return f"{(time - begin) / 1000:.1f}"

    if record["kind"] == "message":
        return (f"{record['direction']} {record['bytes']} {record.get('local')} - {record.get('peer')}  "
                f"{whose.name(record)}")
    if record["kind"] == "socket_state" and record["new_state"] == "SYN_SENT":
        return f"connect to {record['peer']}"
    if record["kind"] == "interval" and "waker_tid" in record:
        signal = " (condition variable)" if record.get("condvar") else ""
        return (f"waited {record['state']} in {record.get('syscall')} {record.get('object', '')}{signal} from "
                f"{at(record['start'])}, woken {at(record['end'])} by {record['woken_by']} {record['waker_tid']}")
    if record["kind"] == "task" and record["event"] == "new":
        return f"created by {record['parent_tid']}"
    return None


def show(records, whose, handling, truth):
    _, call = truth.calls[handling.id, handling.hop]
    begin = max(call["sending"] - BEFORE, handling.parent.begin - BEHIND)
    for r in records:
        told = begin <= r["time"] <= call["sent"] + BEHIND and r.get("pid") == handling.parent.pid
        text = words(r, begin, whose) if told else None
        if text:
            print(f"{(r['time'] - begin) / 1000:12.1f} {r['tid']:8}  {text}")


def main():
    directory = pathlib.Path(sys.argv[1])
    count, first = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 1), (3, 0)))
    truth = Truth(directory)
    comparison = check_requests.Comparison(truth, check_requests.find_requests(directory / "capture.sonde"))
    records, whose = list(check_capture.dump(directory / "capture.sonde")), Whose(truth)
    for reason in [r for r in comparison.reasons if r[2].parent][first:first + count]:
        print(comparison.explain(*reason))
        show(records, whose, reason[2], truth)


if __name__ == "__main__":
    main()

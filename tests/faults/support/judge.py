# SPDX-License-Identifier: Apache-2.0
"""Judge what sonde reports about a fault: the first cause, and the percentiles of the entry."""
import collections
import json
import re
import subprocess

TOLERANCE = 0.10  # of a percentile, relative to that of the client
FLOOR = 300_000  # ns; a smaller difference is not judged: system calls and wakeups of the client
PERCENTILES = (50, 95, 99)
# Admissions that the cause is unknown: no lead, but no wrong one either.
UNKNOWN = re.compile(r"unknown|not recorded|nothing was recorded")

Verdict = collections.namedtuple("Verdict", "word cause")  # word: right, partly, wrong


class Unexplained(Exception):
    """sonde printed no explanation."""


def sonde(binary, *args):
    done = subprocess.run([str(binary), *map(str, args)], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Unexplained(f"'sonde {args[0]}' exits with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def first_cause(text):
    """The sentence of the first cause in the text of `sonde explain`, unwrapped."""
    found = re.search(r"^cause \((?:[^)]*)\): (.*?)(?=^\S|\Z)", text, re.M | re.S)
    return re.sub(r"\s+", " ", found[1]).strip() if found else ""


def causes(binary, capture, *options):
    """The first cause in text and in JSON, and the whole text."""
    text = sonde(binary, "explain", *options, capture)
    explained = json.loads(sonde(binary, "explain", "--json", *options, capture))
    return first_cause(text), first_json_cause(explained), text


def first_json_cause(explained):
    """The first cause of the slow requests of the entry, or else of the slowest one."""
    if not explained:
        return ""
    listed = explained[0].get("baseline", {}).get("causes") or explained[0]["causes"]
    return listed[0]["text"] if listed else ""


def judge_cause(cause, truth, partly):
    if re.search(truth, cause, re.S):
        return Verdict("right", cause)
    if not cause or UNKNOWN.search(cause) or partly and re.search(partly, cause, re.S):
        return Verdict("partly", cause)
    return Verdict("wrong", cause)


def judge_causes(fault, text_cause, json_cause):
    """The worse verdict of text and JSON."""
    verdicts = [judge_cause(cause, fault.TRUTH, getattr(fault, "PARTLY", None)) for cause in (text_cause, json_cause)]
    return max(verdicts, key=lambda v: ("right", "partly", "wrong").index(v.word))


def nearest_rank(values, percent):
    values = sorted(values)
    return values[max(0, -(-len(values) * percent // 100) - 1)] if values else 0


def entry_of(binary, capture, port):
    """The row of `sonde requests` about an entry, by its port."""
    entries = json.loads(sonde(binary, "requests", "--json", capture))["entries"]
    rows = [row for row in entries if row["entry"].endswith(f":{port}")]
    if not rows:
        raise Unexplained(f"'sonde requests' has no entry with port {port}")
    return max(rows, key=lambda row: row["count"])


def compare(row, clients):
    """(percentile, that of sonde, that of the client, whether they agree) of each percentile."""
    for percent in PERCENTILES:
        a, b = row[f"p{percent}"], nearest_rank(clients, percent)
        yield percent, a, b, abs(a - b) <= max(TOLERANCE * b, FLOOR)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No command prints control characters or bidi marks from traces, file names or arguments.

usage: hostile.py SONDE

Each command runs on traces whose every name contains all of these characters.  Its output must be valid UTF-8
without any of them.  Prints TAP.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HOSTILE = ("".join(map(chr, [0x1b, 7, 0x7f, *range(0x80, 0xa0), 0x61c, 0x200e, 0x200f, 0x2028, 0x2029,
                             *range(0x202a, 0x202f), *range(0x2066, 0x206a), 0xfeff])))
NAME = f"n{HOSTILE}m"
SQL = "SELECT *, service AS \"%s\" FROM spans" % NAME


def otlp(invalid):
    """One trace; `invalid` also puts a byte into it that is not UTF-8."""
    def attributes(**more):
        return [{"key": key, "value": {"stringValue": NAME}} for key in (NAME, *more.get("keys", ()))]

    def span(number, parent):
        return {"traceId": "a1" * 16, "spanId": f"{number:016x}", "parentSpanId": parent, "name": NAME,
                "startTimeUnixNano": str(10**18 + number * 10**6), "endTimeUnixNano": str(10**18 + 10**8 - number * 10**6),
                "attributes": attributes(), "status": {"code": 2, "message": NAME}}
    text = json.dumps({"resourceSpans": [{"resource": {"attributes": attributes(keys=("service.name", "host.name"))},
                                          "scopeSpans": [{"spans": [span(1, ""), span(2, f"{1:016x}")]}]}]},
                      ensure_ascii=False).encode()
    return text.replace(b'"n', b'"n\xff\xc0') if invalid else text


def ftrace():
    comm = NAME.replace("\x1b", "").replace("\x85", "").replace("\u2028", "").replace("\u2029", "")
    return (f" {comm}-11 [000] d..2. 1.000001: sched_switch: prev_comm={comm} prev_pid=11 prev_prio=120 prev_state=S ==> "
            f"next_comm={comm} next_pid=12 next_prio=120\n"
            f" {comm}-12 [000] d..2. 1.000002: sched_waking: comm={comm} pid=11 prio=120 target_cpu=000\n"
            f" {comm}-12 [000] d..2. 1.000003: sched_switch: prev_comm={comm} prev_pid=12 prev_prio=120 prev_state=S ==> "
            f"next_comm={comm} next_pid=11 next_prio=120\n").encode()


def commands(spans, kernel):
    for path in spans, kernel:
        for words in (["info"], ["dump"], ["export", "--to=json"], ["requests"], ["explain"], ["diagnose"]):
            yield [*words, path]
            if words[0] != "export":
                yield [*words, "--json", path]
    yield ["dump", "--events", kernel]
    yield ["dump", "--events", "--json", kernel]
    yield ["explain", "--thread", "11", kernel]
    yield ["path", "--thread", "11", "--json", kernel]
    yield ["path", "--trace", "a1", spans]
    yield ["path", "--trace", "a1", "--json", spans]
    yield ["export", "--to=otlp-json", spans]
    yield ["query", spans, SQL]
    yield ["query", "--json", spans, SQL]
    yield ["query", spans, f"SELECT x FROM \"{NAME}\""]
    yield ["query", "--json", spans, "SELECT key, value FROM attributes"]
    yield ["explain", "--trace", NAME, spans]
    yield ["explain", "--span", NAME, spans]
    yield ["info", "--format", NAME, spans]
    yield ["info", f"{spans}{NAME}"]
    yield [NAME]
    yield ["info", f"--{NAME}"]


def complaint(out):
    try:
        text = out.decode()
    except UnicodeDecodeError as e:
        return f"not UTF-8: {e}"
    found = sorted({f"U+{ord(c):04X}" for c in text if c in HOSTILE})
    return f"has {' '.join(found)}" if found else None


def main():
    sonde, number, failed = sys.argv[1], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for invalid in False, True:
            spans, kernel = (pathlib.Path(folder, NAME + end) for end in (".json", ".ftrace"))
            spans.write_bytes(otlp(invalid))
            kernel.write_bytes(ftrace())
            for command in commands(spans, kernel):
                done = subprocess.run([sonde, *command], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
                wrong = [w for w in (complaint(done.stdout), complaint(done.stderr)) if w]
                if done.returncode not in (0, 1, 2):
                    wrong.append(f"exit {done.returncode}")
                shown = ascii(" ".join(str(w).replace(str(folder), "").replace(NAME, "NAME") for w in command))
                number, failed = number + 1, failed + bool(wrong)
                print(f"{'not ok' if wrong else 'ok'} {number} - {shown}{', invalid bytes' if invalid else ''}".replace("#", ""))
                for line in wrong:
                    print(f"# {line}")
    print(f"1..{number}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Input nested 40,000 levels deep is read and shown with a small stack, or rejected with a message.

usage: deep.py SONDE MAKE_SHAPE
"""
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

DEPTH = 40_000  # a frame has at least 16 bytes, so a recursion needs more than STACK
STACK = 512 << 10  # bytes
LISTS = "[" * DEPTH + "]" * DEPTH
OBJECTS = '{"a":' * DEPTH + "1" + "}" * DEPTH
ANY_VALUES = '{"arrayValue":{"values":[' * DEPTH + '{"intValue":1}' + "]}}" * DEPTH
SPAN = {
    "jaeger": {"data": [{"traceID": "1", "processes": {"p": {"serviceName": "s"}}, "spans": [
        {"traceID": "1", "spanID": "1", "operationName": "o", "startTime": 1, "duration": 2, "processID": "p",
         "tags": [{"key": "lists", "value": "VALUE"}]}]}]},
    "zipkin": [{"traceId": "1" * 16, "id": "2" * 16, "timestamp": 1, "duration": 3, "tags": {"lists": "VALUE"}}],
    "otlp-json": {"resourceSpans": [{"scopeSpans": [{"spans": [
        {"traceId": "1" * 32, "spanId": "2" * 16, "name": "o", "startTimeUnixNano": "1", "endTimeUnixNano": "5",
         "attributes": [{"key": "lists", "value": "VALUE"}]}]}]}]},
}
TYPES = ("/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\nevent { name = x; fields := "
         + "struct { " * DEPTH + "} a; " * (DEPTH - 1) + "} ; };\n")


def inputs(directory, make_shape):
    """Name, command and expected exit code."""
    deep = directory / "deep.sonde"
    subprocess.run([make_shape, "deep", str(DEPTH), deep], check=True)
    yield "info on spans", ["info", deep], 0
    yield "path on spans", ["path", "--trace=0000", deep], 0
    yield "explain on spans", ["explain", "--json", deep], 0
    spans = directory / "deep.otlp"
    yield "export of spans", ["export", "--to=otlp", "-o", spans, deep], 0
    yield "info on exported spans", ["info", spans], 0
    for name, span in SPAN.items():
        for kind, value in ("lists", LISTS), ("objects", OBJECTS), ("any", ANY_VALUES):
            path = directory / f"{name}-{kind}.json"
            path.write_text(json.dumps(span).replace('"VALUE"', value))
            yield f"{kind} in {name}", ["info", path], 0
    path = directory / "lists.json"
    path.write_text(LISTS)
    yield "only lists", ["info", path], 1
    path = directory / "ctf"
    path.mkdir()
    (path / "metadata").write_text(TYPES)
    (path / "channel").write_bytes(bytes(64))
    yield "types in CTF", ["info", path], 1


def main():
    sonde, make_shape = sys.argv[1:]
    count = failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, command, wanted in inputs(pathlib.Path(directory), make_shape):
            done = subprocess.run([sonde, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK)))
            good = done.returncode == wanted and bool(done.stderr.strip()) >= bool(wanted)
            count, failed = count + 1, failed + (not good)
            print(f"{'ok' if good else 'not ok'} {count} - {name}")
            if not good:
                print(f"# exit {done.returncode}: {done.stderr[-300:]}")
    print(f"1..{count}")
    sys.exit(1 if failed else 0)


main()

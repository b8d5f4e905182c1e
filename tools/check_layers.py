#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if a room includes a room that comes later in the data flow.

The table is in the order of the data flow: a room can use only the listed rooms, which are above
it.  agent/ runs inside traced processes and bpf/ in the kernel, so neither can use base/, which
allocates memory and can abort the program.
"""
import pathlib
import re
import sys

MAY_USE = {
    "base": "",
    "event": "base",
    "agent": "event",
    "bpf": "event",
    "otlp": "base",
    "relay": "base otlp",
    "record": "base event bpf otlp",
    "read": "base event otlp",
    "model": "base event",
    "analyse": "base event model",
    "diagnose": "base event model analyse",
    "load": "base event otlp read model analyse",
    "live": "base event otlp record read model analyse load",
    "store": "base event model analyse diagnose",
    "explore": "base event record model analyse diagnose live store",
    "report": "base event otlp model analyse diagnose",
    "query": "base event model analyse",
    "top": "base event model analyse diagnose load live report",
    "annotate": "base event otlp relay record read model analyse diagnose load live report",
    "flight": "base event record model analyse live",
    "serve": "base event model analyse diagnose load live store report query",
    "cli": "base event bpf record read otlp relay model analyse diagnose load live store explore report query top annotate flight serve",
}

# Third-party libraries that only some rooms may use, so that they can be replaced.
KNOWN_TO = {"yyjson.h": "otlp read", "sqlite3.h": "query store", "nghttp2/nghttp2.h": "relay",
            "microhttpd.h": "relay", "curl/curl.h": "cli relay"}


def complaints(src, path):
    room = path.relative_to(src).parts[0]
    if room not in MAY_USE:
        yield f"{path}: unknown room {room}/; add it to the table in {sys.argv[0]}"
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*["<]([^">]*)[">]', line)
        if include and room not in KNOWN_TO.get(include[1], room).split():
            yield f"{path}:{number}: {room}/ may not use {include[1]}; only these rooms may: {KNOWN_TO[include[1]]}"
        if not include or '"' not in line:
            continue
        used, slash, _ = include[1].partition("/")
        if not slash:
            yield f'{path}:{number}: include "{include[1]}" with its room'
        elif used != room and used not in MAY_USE[room].split():
            yield f"{path}:{number}: {room}/ may not use {used}/"


def main():
    rooms = list(MAY_USE)
    for room, used in MAY_USE.items():
        assert all(rooms.index(u) < rooms.index(room) for u in used.split()), f"{room} uses a later room"
    src = pathlib.Path(sys.argv[1])
    found = [c for path in sorted([*src.rglob("*.[ch]"), *src.rglob("*.cc")]) for c in complaints(src, path)]
    print(*found, sep="\n")
    sys.exit(bool(found))


main()

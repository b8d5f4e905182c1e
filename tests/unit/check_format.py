#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold the description of the capture format to the structs.

usage: check_format.py SOURCE_DIRECTORY PAGE

Every struct that is written to disk has a table in the manual page, with the
same fields at the same offsets, and every kind of record has a section.
"""
import pathlib
import re
import sys

SIZES = {"u8": 1, "s8": 1, "u16": 2, "u32": 4, "u64": 8, "s16": 2, "s32": 4, "s64": 8, "address": 40}
NAMES = {"uint32_t": "u32", "uint64_t": "u64", "int64_t": "s64", "char": "u8", "nsec_t": "u64",
         "struct socket_address": "address"}
FIELD = re.compile(r"(struct socket_address|struct record|\w+) ([\w, ]+)(\[\d*\])?;")


def fields(body):
    """Offset, type and name of each field, as the page writes them."""
    at, found = 0, []
    for kind, names, array in FIELD.findall(re.sub(r"/\*.*?\*/", "", body, flags=re.S)):
        if kind == "struct record":
            at = 16
            continue
        kind = NAMES.get(kind, kind.removeprefix("__"))
        for name in names.split(", "):
            found.append((at, kind + array, name))
            at += SIZES[kind] * int(array.strip("[]") or 0 if array else 1)
    return found


def structs(source):
    for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", source, flags=re.S | re.M):
        yield name.removeprefix("record_"), fields(body)


def tables(page):
    for name, body in re.findall(r"^```\n(\w+)\n(.*?)^```", page, flags=re.S | re.M):
        rows = re.findall(r"^ {1,2}(\d+)  (\S+) +(\w+)", body, flags=re.M)
        yield name, [(int(at), kind, field) for at, kind, field in rows]


def main():
    source, page = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
    events = (source / "event/event.h").read_text()
    layout = {name: table for header in ("event", "capture_format", "recorder_stats")
              for name, table in structs((source / f"event/{header}.h").read_text())}
    described = dict(tables(page))
    wrong = [f"{name}: the page says {described.get(name)}, the struct is {layout.get(name)}"
             for name in sorted(layout | described) if layout.get(name) != described.get(name)]
    for name, number in re.findall(r"RECORD_(\w+) = (\d+),", events):
        if f"\n## {name} ({number})\n" not in page:
            wrong.append(f"the page has no section {name} ({number})")
    print(*wrong, sep="\n")
    sys.exit(bool(wrong) or len(layout) < 20)


main()

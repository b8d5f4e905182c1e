#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if two files of src/ define a type of the same name.

A name has one meaning in the whole tree, so that a reader who has seen `struct
process` once knows it everywhere.  The kernel's own types (bpf/kernel.h) keep
their names, and other rooms can use these names.
"""
import collections
import pathlib
import re
import sys

DEFINITION = re.compile(r"^(?:static )?(?:typedef )?(struct|union|enum)\s+(\w+)\s*\{", re.MULTILINE)
KERNEL = "bpf/kernel.h"


def definitions(src):
    where = collections.defaultdict(list)
    for path in sorted([*src.rglob("*.[ch]"), *src.rglob("*.cc")]):
        name = str(path.relative_to(src))
        if name == KERNEL:
            continue
        for match in DEFINITION.finditer(path.read_text()):
            where[match[2]].append(name)
    return where


def main():
    found = {n: paths for n, paths in definitions(pathlib.Path(sys.argv[1])).items() if len(paths) > 1}
    for name, paths in sorted(found.items()):
        print(f"{name} is defined {len(paths)} times: {', '.join(paths)}")
    sys.exit(bool(found))


main()

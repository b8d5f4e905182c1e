#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if a statement pushes an item of an array onto the same array.

C lets the compiler read the address of the array first, and push afterwards, which can move the
array.  Such a read of freed memory is rare and depends on the compiler, so tests do not find it.
"""
import pathlib
import re
import sys

PUSH = re.compile(r"\*vec_push\(([^()]*)\)\s*=([^;]*);")


def complaints(path):
    text = path.read_text()
    for push in PUSH.finditer(text):
        array = push[1].strip().removeprefix("&")
        items = re.escape(array) + r"(->|\.)items\b"
        if re.search(r"(?<![\w.>])" + items, push[2]):
            yield f"{path}:{text.count(chr(10), 0, push.start()) + 1}: takes an item of {array} while it grows"


def main():
    src = pathlib.Path(sys.argv[1])
    found = [c for path in sorted([*src.rglob("*.[ch]"), *src.rglob("*.cc")]) for c in complaints(path)]
    print(*found, sep="\n")
    sys.exit(bool(found))


main()

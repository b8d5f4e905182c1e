#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail on a file without a licence line, or with the path of a developer's home directory.

usage: check_files.py PROJECT_DIRECTORY

Checks all files that git tracks or would track.  Data files, which have no comments, and prose,
which LICENSE covers, need no licence line; neither does third-party code, which has its own
licence file.
"""
import pathlib
import re
import sys

import project

UNMARKED = {".md", ".out", ".sonde", ".json", ".cmd", ".txt", ".bin", ".format"}
UNMARKED_NAMES = {"LICENSE", ".clang-format", ".gitignore"}
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|work|Users|root)/[\w.]")


def files(top):
    return [path for path in (top / name for name in project.tracked(top)) if path.is_file()]


def complaints(path, where):
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return  # not text
    unmarked = path.suffix in UNMARKED or path.name in UNMARKED_NAMES or where.parts[0] == "LICENSES" \
        or where.parts[:2] == ("tests", "data") \
        or where.parts[0] == "third_party" and path.name != "meson.build"
    if not unmarked and "SPDX-License-Identifier: " not in "".join(text.splitlines(True)[:5]):
        yield f"{where}: has no SPDX-License-Identifier in its first lines"
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line):
            yield f"{where}:{number}: contains the path of a home directory: {line.strip()}"


def main():
    top = pathlib.Path(sys.argv[1])
    found = [c for path in files(top) for c in complaints(path, path.relative_to(top))]
    print(*found, sep="\n")
    sys.exit(bool(found))


main()

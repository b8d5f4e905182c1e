#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a file has no licence line, or names a directory of somebody's machine.

usage: check_files.py PROJECT_DIRECTORY

Looked at is what git tracks or would track.  Data files, which cannot carry a
comment, and prose, which LICENSE covers, need no licence line; nor does other
people's code, which is not ours to mark and has its licence beside it.
"""
import pathlib
import re
import subprocess
import sys

UNMARKED = {".md", ".out", ".sonde", ".json", ".cmd", ".txt", ".bin", ".format"}
UNMARKED_NAMES = {"LICENSE", ".clang-format", ".gitignore"}
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|work|Users|root)/[\w.]")


def files(top):
    git = ["git", "-c", "safe.directory=*", "-C", str(top), "ls-files", "-z", "--cached", "--others",
           "--exclude-standard"]
    try:
        listed = subprocess.run(git, capture_output=True, text=True)
    except FileNotFoundError:
        listed = None
    if listed is None or listed.returncode:
        print("no git here, so it is not known which files are the project's")
        sys.exit(77)
    return sorted(path for path in (top / name for name in listed.stdout.split("\0") if name)
                  if path.is_file())


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
            yield f"{where}:{number}: names a directory of one machine: {line.strip()}"


def main():
    top = pathlib.Path(sys.argv[1])
    found = [c for path in files(top) for c in complaints(path, path.relative_to(top))]
    print(*found, sep="\n")
    sys.exit(bool(found))


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a document names a file or a function that does not exist.

The tour of the code goes from function to function; a renamed one would send
the reader nowhere.  Checked are `path/file.h` and `function()` in backticks, in
the documents for developers.  Paths start at the repository or at src/.
"""
import pathlib
import re
import sys

DOCUMENTS = ["ARCHITECTURE.md", "CONTRIBUTING.md", "doc/decisions.md", "doc/requests.md", "doc/agents.md"]
PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:c|h|py|md|cc|scd|json)|(?:[\w.-]+/)+)`")
FUNCTION = re.compile(r"`(\w+)\(\)`")


def words(root):
    sources = [p for d in ("src", "tests", "bench", "demo") for p in (root / d).rglob("*")
               if p.suffix in (".c", ".h", ".cc", ".py", ".in")]
    return set(re.findall(r"\w+", "\n".join(p.read_text(errors="replace") for p in sources)))


def exists(root, path):
    return any((base / path).exists() for base in (root, root / "src"))


def complaints(root):
    known = words(root)
    for name in DOCUMENTS:
        for number, line in enumerate((root / name).read_text().splitlines(), 1):
            for path in PATH.findall(line):
                if not exists(root, path):
                    yield f"{name}:{number}: '{path}' does not exist"
            for function in FUNCTION.findall(line):
                if function not in known:
                    yield f"{name}:{number}: '{function}()' is not in the code"


found = list(complaints(pathlib.Path(sys.argv[1])))
print(*found, sep="\n")
sys.exit(bool(found))

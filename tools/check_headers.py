#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a header does not compile on its own, because an #include is missing.

usage: check_headers.py COMPILER PROJECT_DIRECTORY

Headers of BPF programs (*.bpf.h) need the BPF target and are checked by their
own build.  So is a header that a source file includes before anything else.
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys

compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
# These need optional SDKs, the kernel, or the generated skeleton of the BPF programs.
LEFT_OUT = ("bpf/kernel.h", "agent/cpp/internal.h", "agent/python/binding.h", "record/kernel/programs_internal.h")


def included_first():
    """The headers that are checked by the build of a source file."""
    for path in (root / "src").rglob("*.c"):
        directives = re.findall(r'^#\s*(.*)', path.read_text(), re.M)
        if directives and (found := re.fullmatch(r'include "(.*)"', directives[0])):
            yield found[1]


def headers():
    built = set(included_first())
    for path in sorted((root / "src").rglob("*.h")):
        name = str(path.relative_to(root / "src"))
        if not name.endswith(".bpf.h") and name not in LEFT_OUT and name not in built:
            yield name


def complaint(name):
    command = [compiler, "-fsyntax-only", "-D_GNU_SOURCE", "-x", "c", "-std=gnu17", "-I", root / "src",
               "-I", root / "third_party/yyjson", "-"]
    result = subprocess.run(command, input=f'#include "{name}"\n', capture_output=True, text=True, check=False)
    return f"src/{name}: {result.stderr.strip()}" if result.returncode else None


with concurrent.futures.ThreadPoolExecutor() as pool:
    found = [c for c in pool.map(complaint, headers()) if c]
print(*found, sep="\n")
sys.exit(bool(found))

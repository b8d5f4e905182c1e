#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold the manual to the program.

usage: check_manual.py SONDE PAGES_DIRECTORY

Every command has a page; the page's OPTIONS are exactly the command's, no more
and no less; the sections that readers look for are there; and groff has no
complaint about what scdoc makes of it.
"""
import pathlib
import re
import shutil
import subprocess
import sys

SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS", "SEE ALSO"]


def words(*command):
    """What it prints; nothing if it fails, as commands do that were not built."""
    return subprocess.run(command, capture_output=True, text=True).stdout.split()


def sections(page):
    """Heading and text of each section."""
    parts = re.split(r"^# (.*)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def documented(options):
    """The options that have an entry: those in the terms, which begin a line in bold."""
    terms = "\n".join(line for line in options.splitlines() if re.match(r"\*-", line))
    return set(re.findall(r"\*(--?\w[\w-]*)", terms))


def check_command(sonde, command, text):
    has = {option.rstrip("=") for option in words(sonde, command, "--complete")}
    found = sections(text)
    wanted = SECTIONS + (["OVERHEAD"] if command == "record" else [])
    yield from (f"has no section {name}" for name in wanted if name not in found)
    says = documented(found.get("OPTIONS", ""))
    yield from (f"does not say what {option} does" for option in sorted(has - says - {"-h", "--help"}))
    yield from (f"has {option}, which the command has not" for option in sorted(says - has - {"-h"}))


def check_rendering(path):
    made = subprocess.run(["scdoc"], stdin=path.open(), capture_output=True, text=True)
    if made.returncode:
        yield made.stderr.strip()
        return
    shown = subprocess.run(["groff", "-t", "-K", "utf8", "-man", "-Tutf8", "-ww", "-z"], input=made.stdout,
                           capture_output=True, text=True)
    if shown.stderr:
        yield shown.stderr.strip()


def main():
    sonde, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    wrong = []
    for command in words(sonde, "--complete"):
        path = directory / f"sonde-{command}.1.scd"
        if command == "help":
            continue
        if not path.exists():
            wrong.append(f"{path.name} is missing")
        elif words(sonde, command, "--complete"):
            wrong += [f"{path.name} {c}" for c in check_command(sonde, command, path.read_text())]
    for path in sorted(directory.glob("*.scd")):
        if shutil.which("scdoc") and shutil.which("groff"):
            wrong += [f"{path.name}: {c}" for c in check_rendering(path)]
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


main()

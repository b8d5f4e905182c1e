#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if the manual and the program disagree.

usage: check_manual.py SONDE PAGES_DIRECTORY

Every command has a page with the usual sections, whose OPTIONS are exactly those of the command.
scdoc and groff accept the pages.  The examples in pages and README that use the demo's capture
show what sonde prints.
"""
import difflib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS", "SEE ALSO"]


def words(*command):
    """The words that a command prints; none if it fails, as commands do that are not in the build."""
    return subprocess.run(command, capture_output=True, text=True).stdout.split()


def sections(page):
    """Heading and text of each section."""
    parts = re.split(r"^# (.*)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def documented(options):
    """The options with an entry: those in lines that start with a bold option."""
    terms = "\n".join(line for line in options.splitlines() if re.match(r"\*-", line))
    return set(re.findall(r"\*(--?\w[\w-]*)", terms))


def check_command(sonde, command, text):
    has = {option.rstrip("=") for option in words(sonde, command, "--complete")}
    found = sections(text)
    wanted = SECTIONS + (["OVERHEAD"] if command == "record" else [])
    yield from (f"has no section {name}" for name in wanted if name not in found)
    says = documented(found.get("OPTIONS", ""))
    yield from (f"does not describe {option}" for option in sorted(has - says - {"-h", "--help"}))
    yield from (f"describes {option}, which the command does not have" for option in sorted(says - has - {"-h"}))


def check_rendering(path):
    made = subprocess.run(["scdoc"], stdin=path.open(), capture_output=True, text=True)
    if made.returncode:
        yield made.stderr.strip()
        return
    shown = subprocess.run(["groff", "-t", "-K", "utf8", "-man", "-Tutf8", "-ww", "-z"], input=made.stdout,
                           capture_output=True, text=True)
    if shown.stderr:
        yield shown.stderr.strip()


def shown(text):
    """Commands in the examples that work in any checkout, each with its output."""
    for block in re.findall(r"^```\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = example.partition("\n")
            if command.startswith("sonde ") and "demo/demo.sonde" in command and output:
                yield command, output.rstrip("\n").split("\n")


def check_examples(sonde, root, text):
    for command, want in shown(text):
        ran = subprocess.run([sonde, *shlex.split(command)[1:]], capture_output=True, text=True, cwd=root,
                             env=os.environ | {"LC_ALL": "C.UTF-8", "COLUMNS": "80", "TZ": "UTC"})
        got = ran.stdout.rstrip("\n").split("\n")
        if want[-1] == "...":
            want, got = want[:-1], got[:len(want) - 1]
        if got != want:
            yield from [f"shows other output of '{command}' than it prints:", *difflib.unified_diff(want, got, lineterm="")]


def main():
    sonde, directory = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    root = directory.parent.parent
    wrong = []
    for command in words(sonde, "--complete"):
        path = directory / f"sonde-{command}.1.scd"
        if command == "help":
            continue
        if not path.exists():
            wrong.append(f"{path.name} is missing")
        elif words(sonde, command, "--complete"):
            wrong += [f"{path.name} {c}" for c in check_command(sonde, command, path.read_text())]
    for path in [root / "README.md", *sorted(directory.glob("*.scd"))]:
        wrong += [f"{path.name} {c}" for c in check_examples(sonde, root, path.read_text())]
    for path in sorted(directory.glob("*.scd")):
        if shutil.which("scdoc") and shutil.which("groff"):
            wrong += [f"{path.name}: {c}" for c in check_rendering(path)]
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


main()

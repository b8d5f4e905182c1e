#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare screens of `sonde top`, drawn from values made by hand, with screens/NAME.txt.

usage: screens.py DRAW_TOP

Each screen is drawn as text and as it is written to a terminal; a strict emulator must show the
same.  SONDE_BLESS=1 rewrites the files; read the diff before committing it.
"""
import difflib
import os
import pathlib
import subprocess
import sys

import emulator

SCREENS = pathlib.Path(__file__).resolve().parent / "screens"


def draw(*args):
    return subprocess.run(args, capture_output=True, check=True, env={"TZ": "UTC"}).stdout.decode()


def without_marks(text):
    return "".join(c for c in text if c == "\n" or emulator.width(c))


def differences(program, name, columns, rows):
    got = draw(program, name)
    file = SCREENS / f"{name}.txt"
    if os.environ.get("SONDE_BLESS"):
        SCREENS.mkdir(exist_ok=True)
        file.write_text(got)
    want = file.read_text() if file.exists() else ""
    yield from difflib.unified_diff(want.splitlines(), got.splitlines(), "want", "got", lineterm="")
    lines = got.splitlines()
    if len(lines) > rows or any(sum(map(emulator.width, line)) > columns for line in lines):
        yield f"larger than {columns}x{rows}"
    terminal = emulator.Terminal(columns, rows)
    terminal.feed(draw(program, name, "terminal"))
    yield from difflib.unified_diff(without_marks(got).splitlines(), terminal.text().splitlines(), "text",
                                    "terminal", lineterm="")


def main():
    program = sys.argv[1]
    scenes = [line.split() for line in draw(program).splitlines()]
    failed = 0
    print(f"1..{len(scenes)}")
    for number, (name, columns, rows) in enumerate(scenes, 1):
        found = list(differences(program, name, int(columns), int(rows)))
        failed += bool(found)
        print(f"{'not ok' if found else 'ok'} {number} - {name}")
        print(*(f"# {line}" for line in found), sep="\n", end="\n" if found else "")
    sys.exit(failed > 0)


main()

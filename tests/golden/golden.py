#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run each NAME.cmd beside this file and compare what it prints with NAME.out.

usage: golden.py SONDE [NAME...]

A .cmd is a shell script, run in tests/ with the sonde to test on its path; one
that says `# needs COMMAND` is skipped where that command was not built.  A .out
holds what it wrote to stdout, then to stderr, and its exit code.  Prints TAP.
SONDE_BLESS=1 rewrites the .out files; read the diff before committing it.
"""
import difflib
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(cmd, sonde):
    path = f"{sonde.parent}:{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1"}
    got = subprocess.run(["sh", "-c", cmd.read_text()], capture_output=True, text=True, env=env,
                         cwd=HERE.parent, stdin=subprocess.DEVNULL, timeout=240)
    stderr = "".join(f"stderr: {line}\n" for line in got.stderr.splitlines())
    return got.stdout + stderr + f"exit: {got.returncode}\n"


def check(cmd, sonde):
    """Lines of difference, none if all is as it should be."""
    out = cmd.with_suffix(".out")
    got = run(cmd, sonde)
    if os.environ.get("SONDE_BLESS"):
        out.write_text(got)
    want = out.read_text() if out.exists() else ""
    return list(difflib.unified_diff(want.splitlines(), got.splitlines(), "want", "got", lineterm=""))


def main():
    sonde = pathlib.Path(sys.argv[1]).resolve()
    names = sys.argv[2:]
    cases = [cmd for cmd in sorted(HERE.glob("*.cmd")) if not names or cmd.stem in names]
    missing = [name for name in ("record", "query")
               if subprocess.run([sonde, name, "--complete"], capture_output=True).returncode]
    failed = 0
    print(f"1..{len(cases)}")
    for number, cmd in enumerate(cases, 1):
        lacks = [name for name in missing if f"# needs {name}" in cmd.read_text()]
        if lacks:
            print(f"ok {number} - {cmd.stem} # SKIP this sonde was built without {lacks[0]}")
            continue
        difference = check(cmd, sonde)
        failed += bool(difference)
        print(f"{'not ok' if difference else 'ok'} {number} - {cmd.stem}")
        print(*(f"# {line}" for line in difference), sep="\n", end="\n" if difference else "")
    sys.exit(failed > 0)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The prompt of sonde query, at a terminal.

usage: prompt.py SONDE

Types into it as a person would, and looks at what is shown.  Prints TAP.
"""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import time

PATIENCE = 120  # seconds for anything
CAPTURE = pathlib.Path(__file__).resolve().parent.parent / "data" / "good" / "every-kind.sonde"
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) FROM n;"
SCENES = {
    "a statement over two lines": [("SELECT count(*) AS n", r"  \.\.\.> $"), ("FROM threads;", r"n\s+9\s+sonde> $")],
    "a mistake does not end it": [("SELECT x;", r"no such column: x.*sonde> $"), ("SELECT 7;", r"7\s+7\s+sonde> $")],
    "tables": [(".tables", r"name +description.*intervals.*sonde> $")],
    "the columns of one": [(".schema losses", r"start +INTEGER.*count.*sonde> $")],
    "no columns of a strange one": [(".schema x'y", r"invalid table name.*sonde> $")],
    "help": [(".help", r"\.schema.*sonde> $"), (".nonsense", r"\.schema.*sonde> $")],
    "blank lines": [("", r"sonde> $"), (" ;", r"sonde> $")],
    "an endless query is stopped": [(ENDLESS, None), ("\x03", r"interrupted\s+sonde> $"), ("SELECT 5;", r"5\s+5\s+sonde> $")],
    "a line is forgotten": [("SELECT", r"  \.\.\.> $"), ("\x03", r"sonde> $"), ("SELECT 5;", r"5\s+5\s+sonde> $")],
}


def wait_until_busy(pid):
    """Until it has worked for a good while on what it was given."""
    def used():
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])

    begin, end = used(), time.monotonic() + PATIENCE
    while used() < begin + os.sysconf("SC_CLK_TCK") // 4 and time.monotonic() < end:
        time.sleep(0.05)


class Terminal:
    def __init__(self, sonde):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["LC_ALL"] = "C.UTF-8"
            os.execv(sonde, [sonde, "query", str(CAPTURE)])

    def read_until(self, pattern):
        """What comes up to where it matches; None if it does not in time."""
        text, end = "", time.monotonic() + PATIENCE
        while not re.search(pattern, text, re.DOTALL):
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            try:
                more = os.read(self.fd, 4096) if ready else b""
            except OSError:  # the other side is closed
                more = b""
            if not more:
                print(*(f"# {line}" for line in text.splitlines()), sep="\n")
                return None
            text += more.decode(errors="replace")
        return text

    def type(self, text):
        os.write(self.fd, text.encode() if text == "\x03" else text.encode() + b"\n")

    def end(self, key):
        """Its exit code when this is typed."""
        os.write(self.fd, key)
        self.read_until("$^")
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def play(terminal, scene):
    for typed, wanted in scene:
        terminal.type(typed)
        if wanted is None:
            wait_until_busy(terminal.pid)
        elif terminal.read_until(wanted) is None:
            return False
    return True


def stops_at_once(sonde):
    """Without a prompt, Ctrl-C ends it with a sentence."""
    process = subprocess.Popen([sonde, "query", CAPTURE, ENDLESS], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_until_busy(process.pid)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode == 1 and said.endswith(b"sonde: interrupted\n")


def main():
    sonde, failed = sys.argv[1], 0
    if subprocess.run([sonde, "query", "--complete"], capture_output=True).returncode:
        print("1..0 # SKIP this sonde was built without query")
        return
    terminal = Terminal(sonde)
    results = {"it begins": terminal.read_until("sonde> $") is not None}
    for name, scene in SCENES.items():
        results[name] = play(terminal, scene)
    results[".quit ends it"] = terminal.end(b".quit\n") == 0
    other = Terminal(sonde)
    results["so does Ctrl-D"] = other.read_until("sonde> $") is not None and other.end(b"\x04") == 0
    results["an endless query of the command line is stopped"] = stops_at_once(sonde)
    print(f"1..{len(results)}")
    for number, (name, good) in enumerate(results.items(), 1):
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    sys.exit(failed > 0)


main()

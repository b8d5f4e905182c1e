#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The prompt of sonde query on a terminal.

usage: prompt.py SONDE

Types into the prompt and checks the output.  Prints TAP.
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

TIMEOUT = 120  # seconds
CAPTURE = pathlib.Path(__file__).resolve().parent.parent / "data" / "good" / "every-kind.sonde"
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) FROM n;"
SCENES = {
    "a statement can span two lines": [("SELECT count(*) AS n", r"  \.\.\.> $"), ("FROM threads;", r"n\s+9\s+sonde> $")],
    "an error does not end the prompt": [("SELECT x;", r"no such column: x.*sonde> $"), ("SELECT 7;", r"7\s+7\s+sonde> $")],
    ".tables lists the tables": [(".tables", r"name +description.*intervals.*sonde> $")],
    ".schema lists the columns of a table": [(".schema losses", r"start +INTEGER.*count.*sonde> $")],
    ".schema rejects an invalid name": [(".schema x'y", r"invalid table name.*sonde> $")],
    ".help and unknown commands list the commands": [(".help", r"\.schema.*sonde> $"), (".nonsense", r"\.schema.*sonde> $")],
    "blank lines are ignored": [("", r"sonde> $"), (" ;", r"sonde> $")],
    "Ctrl-C stops an endless query": [(ENDLESS, None), ("\x03", r"interrupted\s+sonde> $"), ("SELECT 5;", r"5\s+5\s+sonde> $")],
    "Ctrl-C discards the statement": [("SELECT", r"  \.\.\.> $"), ("\x03", r"sonde> $"), ("SELECT 5;", r"5\s+5\s+sonde> $")],
}


def wait_until_busy(pid):
    """Wait until the process has used a quarter of a second of CPU time."""
    def used():
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])

    begin, end = used(), time.monotonic() + TIMEOUT
    while used() < begin + os.sysconf("SC_CLK_TCK") // 4 and time.monotonic() < end:
        time.sleep(0.05)


class Terminal:
    def __init__(self, sonde):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["LC_ALL"] = "C.UTF-8"
            os.execv(sonde, [sonde, "query", str(CAPTURE)])

    def read_until(self, pattern):
        """The output up to a match; None on timeout."""
        text, end = "", time.monotonic() + TIMEOUT
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
        """Type a key and return the exit code."""
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
    """Without a prompt, Ctrl-C ends the command with a message."""
    process = subprocess.Popen([sonde, "query", CAPTURE, ENDLESS], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_until_busy(process.pid)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=TIMEOUT)
    return process.returncode == 1 and message.endswith(b"sonde: interrupted\n")


def main():
    sonde, failed = sys.argv[1], 0
    if subprocess.run([sonde, "query", "--complete"], capture_output=True).returncode:
        print("1..0 # SKIP this sonde was built without query")
        return
    terminal = Terminal(sonde)
    results = {"the prompt appears": terminal.read_until("sonde> $") is not None}
    for name, scene in SCENES.items():
        results[name] = play(terminal, scene)
    results[".quit exits"] = terminal.end(b".quit\n") == 0
    other = Terminal(sonde)
    results["Ctrl-D exits"] = other.read_until("sonde> $") is not None and other.end(b"\x04") == 0
    results["Ctrl-C stops an endless query on the command line"] = stops_at_once(sonde)
    print(f"1..{len(results)}")
    for number, (name, good) in enumerate(results.items(), 1):
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    sys.exit(failed > 0)


main()

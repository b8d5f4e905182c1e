#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde top` on a terminal: keys, sizes, and the terminal as it was on every way out.

usage: top_screen.py SONDE

Replays a capture on a pseudo-terminal and reads the screen with a strict emulator.  Prints TAP.
"""
import codecs
import concurrent.futures
import fcntl
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import emulator

TIMEOUT = 60  # seconds
WORKERS = 4  # tests at a time, as they mostly wait
SONDE = pathlib.Path(sys.argv[1]).resolve()
CAPTURE = pathlib.Path(__file__).resolve().parents[2] / "demo" / "demo.sonde"
UP, DOWN, ESC, ENTER = "\x1b[A", "\x1b[B", "\x1b", "\r"


def shell(slave, argv, env, report, orders):
    """As a shell: run a command in the foreground, report how it stops or ends, continue it."""
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for number in (signal.SIGTTOU, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(slave, os.getpid())
        for number in (signal.SIGTTOU, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        for fd in (0, 1, 2):
            os.dup2(slave, fd)
        if "STDIN" in env:
            os.dup2(os.open(env["STDIN"], os.O_RDONLY), 0)
        os.execve(argv[0], argv, env)
    os.write(report, f"{pid}\n".encode())
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        os.write(report, f"{status}\n".encode())
        if not os.WIFSTOPPED(status):
            os._exit(0)
        os.tcsetpgrp(slave, os.getpid())
        if not os.read(orders, 1):
            os.kill(pid, signal.SIGKILL)
        os.tcsetpgrp(slave, pid)
        os.kill(pid, signal.SIGCONT)


class Session:
    def __init__(self, *args, columns=80, rows=24, **env):
        self.master, self.slave = pty.openpty()
        self.screen = emulator.Terminal(columns, rows)
        self.set_size(columns, rows)
        self.mode = termios.tcgetattr(self.slave)
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.raw = ""
        report, report_end = os.pipe()
        orders_end, self.orders = os.pipe()
        env = {"LC_ALL": "C.UTF-8", "TERM": "xterm", "TZ": "UTC", **env}
        argv = [str(SONDE), "top", *map(str, args or (CAPTURE,))]
        if os.fork() == 0:
            os.close(self.orders)
            os.close(self.master)
            shell(self.slave, argv, env, report_end, orders_end)
        os.close(report_end)
        self.report = os.fdopen(report)
        self.pid = int(self.report.readline())

    def set_size(self, columns, rows):
        self.screen.resize(columns, rows)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.set_size(columns, rows)
        os.kill(self.pid, signal.SIGWINCH)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            text = self.decoder.decode(os.read(self.master, 65536))
            self.raw += text
            self.screen.feed(text)

    def wait(self, words, absent=None):
        """Wait until the screen contains some words, and not others."""
        end = time.monotonic() + TIMEOUT
        while words not in self.screen.text() or (absent and absent in self.screen.text()):
            assert time.monotonic() < end, f"no {words!r} on the screen, but:\n{self.screen.text()}"
            self.read(0.2)

    def status(self):
        """How the command has stopped or ended; reads the rest of its output."""
        end = time.monotonic() + TIMEOUT
        while not select.select([self.report], [], [], 0)[0]:
            assert time.monotonic() < end, "the command does not end"
            self.read(0.05)
        while select.select([self.master], [], [], 0.2)[0]:
            self.read(0)
        return int(self.report.readline())

    def restored(self):
        assert termios.tcgetattr(self.slave) == self.mode, "the mode of the terminal was not restored"
        assert self.screen.modes == {"wrap": True, "cursor": True, "alternate": False, "batch": False}, \
            f"modes of the terminal: {self.screen.modes}"

    def quit(self):
        self.press("q")
        assert self.status() == 0
        self.restored()


def the_first_screen_explains_itself():
    session = Session()
    session.wait("contacts.wal")
    text = session.screen.text()
    assert text.startswith("sonde top   demo.sonde on demo"), text
    for words in ("req/s", "p99", "front :6", "D disk", "fsync of", "q quit", "Enter explain"):
        assert words in text, f"no {words!r}:\n{text}"
    assert session.screen.modes["alternate"] and not session.screen.modes["cursor"]
    session.quit()


def a_row_is_selected_and_explained():
    session = Session()
    session.wait("contacts.wal")
    session.press(DOWN)
    session.wait("\n> ")
    session.press(ENTER)
    session.wait("slowest request of front")
    session.wait("waits for a lock")
    session.press("jjG")
    session.wait("cause (")
    session.press(ESC)
    session.wait("causes that cost most")
    session.press(ESC)
    session.wait("critical path of all requests", absent="\n> ")
    session.quit()


def help_lists_keys_and_states():
    session = Session()
    session.wait("contacts.wal")
    session.press("?")
    session.wait("sonde top: help")
    session.press("G")
    session.wait("waiting for a lock")
    session.press(ESC)
    session.wait("causes that cost most")
    session.quit()


def a_filter_is_applied_while_it_is_typed():
    session = Session()
    session.wait("contacts.wal")
    session.press("/LEDG")
    session.wait("filter: LEDG")
    session.wait("operation (1 of 2)")
    session.press("x")
    session.wait("no operation matches")
    session.press("\x7f" + ENTER)
    session.wait("/ filter: LEDG")
    session.press(ESC)
    session.wait("q quit", absent="filter:")
    session.quit()


def sorting_and_freezing_are_shown():
    session = Session()
    session.wait("↓time")
    session.press("s")
    session.wait("↓req/s")
    session.press(" ")
    session.wait("FROZEN")
    session.press("f")
    session.wait("q quit", absent="FROZEN")
    session.quit()


def the_screen_follows_the_size_of_the_window():
    session = Session()
    session.wait("contacts.wal")
    for columns, rows in ((120, 40), (40, 10), (20, 5), (1, 1), (300, 100), (80, 24)):
        session.resize(columns, rows)
        session.wait("sonde top"[:columns - 1] if columns > 1 else "…")
    session.wait("q quit")
    session.quit()


def ctrl_z_restores_the_terminal_and_fg_returns_to_the_screen():
    session = Session()
    session.wait("contacts.wal")
    for _ in range(3):
        session.press("\x1a")
        assert os.WIFSTOPPED(session.status())
        session.restored()
        session.screen.resize(80, 24)
        os.write(session.orders, b"c")
        session.wait("contacts.wal")
        assert session.screen.modes["alternate"]
    session.quit()


def ended_by(number, keys=None):
    session = Session()
    session.wait("contacts.wal")
    if keys:
        session.press(keys)
    else:
        os.kill(session.pid, number)
    status = session.status()
    session.restored()
    return status


def ctrl_c_and_signals_end_it():
    assert ended_by(signal.SIGINT, "\x03") == 0
    assert ended_by(signal.SIGTERM) == 0
    assert ended_by(signal.SIGHUP) == 0


def a_crash_restores_the_terminal():
    assert os.WTERMSIG(ended_by(signal.SIGSEGV)) == signal.SIGSEGV
    assert os.WTERMSIG(ended_by(signal.SIGABRT)) == signal.SIGABRT
    assert os.WTERMSIG(ended_by(signal.SIGQUIT, "\x1c")) == signal.SIGQUIT


def the_end_of_the_terminal_ends_it():
    session = Session()
    session.wait("contacts.wal")
    os.close(session.master)
    os.close(session.slave)
    assert int(session.report.readline()) == 0


def keys_come_from_the_terminal_if_stdin_is_a_file():
    session = Session(STDIN="/dev/null")
    session.wait("contacts.wal")
    session.press("?")
    session.wait("sonde top: help")
    session.quit()


def the_end_of_a_stream_is_shown_without_using_the_cpu():
    session = Session("-", STDIN=str(CAPTURE))
    session.wait("contacts.wal")
    session.read(1)

    def used():
        fields = pathlib.Path(f"/proc/{session.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = used()
    time.sleep(1)
    assert used() - before < 0.3, f"{used() - before} s of CPU time in a second"
    session.press("?")
    session.wait("sonde top: help")
    session.quit()


def garbage_typed_is_ignored():
    session = Session()
    session.wait("contacts.wal")
    os.write(session.master, bytes(b for b in range(128, 256)) + b"\x1b[999;999Z\x1b[?1;2c\x1bO\x1b[200~\x00")
    session.press(ESC)
    session.press("s")
    session.wait("↓req/s")
    session.quit()


def no_colours_with_no_color():
    session = Session(NO_COLOR="1")
    session.wait("contacts.wal")
    assert not any(";3" in look for row in session.screen.looks for look in row)
    session.quit()
    session = Session()
    session.wait("contacts.wal")
    assert any(";3" in look for row in session.screen.looks for look in row)
    session.quit()


def ascii_locales_get_ascii():
    session = Session(LC_ALL="C")
    session.wait("contacts.wal")
    session.quit()
    assert session.raw.isascii()


def a_dumb_terminal_gets_text():
    session = Session(TERM="dumb")
    assert session.status() == 0
    assert "\x1b" not in session.raw and "contacts.wal" in session.screen.text()


def a_missing_capture_is_a_message_on_a_terminal_that_was_not_touched():
    session = Session("/nonexistent.sonde")
    assert os.WEXITSTATUS(session.status()) == 1
    assert "\x1b" not in session.raw and "nonexistent" in session.raw
    session.restored()


def a_closed_pipe_ends_it():
    done = subprocess.run(f"{SONDE} top {CAPTURE} | head -1", shell=True, capture_output=True, text=True,
                          timeout=TIMEOUT, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.stdout.startswith("sonde top") and not done.stderr, done


TESTS = [the_first_screen_explains_itself, a_row_is_selected_and_explained, help_lists_keys_and_states,
         a_filter_is_applied_while_it_is_typed, sorting_and_freezing_are_shown,
         the_screen_follows_the_size_of_the_window, ctrl_z_restores_the_terminal_and_fg_returns_to_the_screen,
         ctrl_c_and_signals_end_it, a_crash_restores_the_terminal, the_end_of_the_terminal_ends_it,
         keys_come_from_the_terminal_if_stdin_is_a_file,
         the_end_of_a_stream_is_shown_without_using_the_cpu, garbage_typed_is_ignored, no_colours_with_no_color, ascii_locales_get_ascii, a_dumb_terminal_gets_text,
         a_missing_capture_is_a_message_on_a_terminal_that_was_not_touched, a_closed_pipe_ends_it]


def error_of(test):
    try:
        test()
    except (AssertionError, ValueError, OSError) as e:
        return f"{type(e).__name__}: {e}"
    return None


def main():
    failed = 0
    print(f"1..{len(TESTS)}", flush=True)
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        for number, (test, error) in enumerate(zip(TESTS, pool.map(error_of, TESTS)), 1):
            failed += error is not None
            print(f"{'ok' if error is None else 'not ok'} {number} - {test.__name__.replace('_', ' ')}")
            if error is not None:
                print(*(f"# {line}" for line in error.splitlines()), sep="\n")
            sys.stdout.flush()
    sys.exit(failed > 0)


main()

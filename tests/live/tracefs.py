# SPDX-License-Identifier: Apache-2.0
"""tracefs is shared by the whole host: restore all settings after use."""
import contextlib
import os
import pathlib
import re

from harness import Disturbed, Skip, equal, run

ROOT = pathlib.Path("/sys/kernel/tracing")
TRIES = 5  # of trace-cmd
INSTANCES = ("sonde-one", "sonde-two")  # names of the buffer instances that the tests create


def is_mounted():
    """Mount tracefs if necessary: after boot, the first tracer has to mount it."""
    if not (ROOT / "events").exists():
        run("mount", "-t", "tracefs", "nodev", ROOT, expect=None)
    return (ROOT / "events").exists()


def is_disturbed(words):
    """trace-cmd reads the kernel's symbols twice, and gives up if some came or went in between.

    Each recorder brings some with its programs, and those go a while after it.
    """
    return "error in size of file" in words


def forget_names():
    """Forget the names of exited threads: libtracecmd loses all names if one contains a line feed, as in text.py."""
    size = ROOT / "saved_cmdlines_size"
    size.write_text(size.read_text().split()[0])


@contextlib.contextmanager
def as_it_was():
    """Restore the settings after trace-cmd, which with -k keeps its events, clock and buffer sizes."""
    if not is_mounted() or not os.access(ROOT / "set_event", os.W_OK):
        raise Skip(f"{ROOT} cannot be written")
    if (ROOT / "events/enable").read_text().strip() != "0":
        raise Disturbed("another program uses tracefs")
    on = (ROOT / "tracing_on").read_text()
    clock = re.search(r"\[(.*)\]", (ROOT / "trace_clock").read_text())[1]
    size = re.search(r"expanded: (\d+)|^(\d+)$", (ROOT / "buffer_size_kb").read_text().strip())
    forget_names()
    try:
        yield
    finally:
        for made in filter(pathlib.Path.exists, (ROOT / "instances" / name for name in INSTANCES)):
            (made / "events/enable").write_text("0")
            made.rmdir()
        (ROOT / "events/enable").write_text("0")
        (ROOT / "trace_clock").write_text(clock)  # which empties the buffers
        (ROOT / "buffer_size_kb").write_text(size[1] or size[2])
        (ROOT / "tracing_on").write_text(on)
    equal((ROOT / "set_event").read_text().strip(), "", "events that are switched on")

# SPDX-License-Identifier: Apache-2.0
"""What a service in Python can do wrong, switched on and off while it runs; ../faults.h is the same for C and C++.

A fault is injected into a service while a file NAME@SERVICE exists in the directory of faults, or
NAME@SERVICE:OPERATION for one of its operations.  The file can contain a number, the strength of
the fault.
"""
import gc
import mmap
import os
import pathlib
import threading
import time

FAULTS = pathlib.Path(os.environ["BANK_FAULTS"])
DIRECTORY = pathlib.Path(os.environ["BANK_DIRECTORY"])
LINE = "." * 4095 + "\n"
BLOCK = 4 << 20  # bytes
OBJECTS = 12_000  # per ms of a collection, about, in a service with other objects
heap = []
lock, janitor_lock, heap_lock = threading.Lock(), threading.Lock(), threading.Lock()
janitors = set()


def strength(path, default):
    """The number in the file of a fault; None if the fault is not injected."""
    try:
        return float(path.read_text() or default)
    except FileNotFoundError:
        return None


def find(name, service, operation, default=1.0):
    """The strength of a fault in an operation; None if it is not injected."""
    whole = strength(FAULTS / f"{name}@{service}", default)
    return whole if whole is not None else strength(FAULTS / f"{name}@{service}:{operation}", default)


def assess_risk(ms):
    """Compute for ms of CPU time."""
    end, risk = time.thread_time() + ms / 1e3, 1
    while time.thread_time() < end:
        for i in range(500):
            risk = (risk ^ i) * 16777619 & 0xffffffff
    return risk


def allocate(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        bytearray(b"x") * BLOCK


def touch_pages(ms):
    end = time.thread_time() + ms / 1e3
    with mmap.mmap(-1, BLOCK) as block:
        block.madvise(mmap.MADV_NOHUGEPAGE)
        while time.thread_time() < end:
            for at in range(0, BLOCK, mmap.PAGESIZE):
                block[at] = 1
            block.madvise(mmap.MADV_DONTNEED)


def collect(ms):
    """Collect garbage in a heap that is so large that it takes ms."""
    wanted = int(ms * OBJECTS)
    with heap_lock:  # or all threads fill it at once
        heap.extend([] for _ in range(wanted - len(heap)))
    gc.collect()


def write_lines(path, lines):
    """Flush each line to disk before the next one."""
    with path.open("a") as log:
        for _ in range(int(lines)):
            log.write(LINE)
            log.flush()
            os.fsync(log.fileno())


def tidy_up(service, operation):
    """Hold the lock most of the time, until the fault ends."""
    pathlib.Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text("janitor")
    while (ms := find("lock", service, operation, 20)) is not None:
        with lock:
            time.sleep(ms / 1e3)
        time.sleep(0.002)
    with janitor_lock:
        janitors.discard(service)


def take_lock(service, operation):
    with janitor_lock:
        if service not in janitors:
            janitors.add(service)
            threading.Thread(target=tidy_up, args=(service, operation), daemon=True).start()
    with lock:
        pass


KINDS = {
    "sleep": (lambda ms, _: time.sleep(ms / 1e3), 20),
    "compute": (lambda ms, _: assess_risk(ms), 10),
    "allocate": (lambda ms, _: allocate(ms), 10),
    "pages": (lambda ms, _: touch_pages(ms), 10),
    "collect": (lambda ms, _: collect(ms), 20),
    "flush": (lambda lines, service: write_lines(DIRECTORY / f"seen-{service}.log", lines), 64),
    "journal": (lambda lines, service: write_lines(DIRECTORY / f"journal-{service}.log", lines), 1),
}


def inject(service, operation):
    """Do what is wrong with this operation; called in the handler of each request."""
    present = {name for name in os.listdir(FAULTS) if "@" in name}
    if heap and not any(name.startswith("collect@") for name in present):
        heap.clear()
    for name, (run, default) in KINDS.items():
        if present & {f"{name}@{service}", f"{name}@{service}:{operation}"}:
            value = find(name, service, operation, default)
            if value is not None:
                run(value, service)
    if present & {f"lock@{service}", f"lock@{service}:{operation}"}:
        take_lock(service, operation)

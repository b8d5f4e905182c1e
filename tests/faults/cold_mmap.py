# SPDX-License-Identifier: Apache-2.0
"""Requests touch pages of a mapped file that is not in the page cache, on a disk that reads 8 MiB/s."""
import os

import services

TRUTH = r"\bpage\b.*tiles\.dat"
PARTLY = r"\bpage\b"
SIZE = 512 << 20


def cold_file(lab):
    """A file on disk, of which no page is cached."""
    path = lab.build / "tiles.dat"
    if not path.exists() or path.stat().st_size != SIZE:
        part = os.urandom(1 << 20)
        with open(path, "wb") as file:
            for _ in range(SIZE // len(part)):
                file.write(part)
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


def start(lab):
    path = cold_file(lab)
    slow_disk = lab.limited("io", io_max=f"{services.disk_of(path)} rbps={8 << 20}")
    return lab.service("tiles", slow_disk, lab.compile("tiles.c"), lab.port(), path, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=2, pause=30)

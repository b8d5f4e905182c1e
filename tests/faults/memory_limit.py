# SPDX-License-Identifier: Apache-2.0
"""The memory limit of a control group evicts the pages of an index, so that requests read them again and again."""
import os

import services

TRUTH = r"memory limit|memory\.(max|limit)"
PARTLY = r"\bpage\b|reclaim"
SIZE = 256 << 20
LIMIT = 24 << 20
RATE = 8 << 20  # bytes/s of the disk


def make_index(path):
    """Write an index, and evict it from the page cache: its pages are charged to the group that reads them."""
    with open(path, "wb") as file:
        for _ in range(SIZE >> 20):
            file.write(bytes(range(256)) * 4096)
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def start(lab):
    index, port = lab.directory / "index.data", lab.port()
    make_index(index)
    limits = [*lab.limited("memory", memory_max=LIMIT),
              *lab.limited("io", io_max=f"{services.disk_of(index)} rbps={RATE}")]
    return lab.service("lookup", *limits, lab.compile("lookup.c"), port, index, port=port)

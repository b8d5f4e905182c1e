#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_tracedat.py SMALL LARGE TIMES - extend a trace.dat for benchmarks.

Repeats the pages of each CPU, each time shifted by the duration of the trace.  Apart
from their times, pages do not change.  SMALL and LARGE have version 6 of the format;
`trace-cmd convert --file-version 6` converts other versions.
"""
import struct
import sys

PAGE = 4096
TABLE = b"flyrecord\0"


def rings(data):
    """The offset of the table of CPUs, and offset and size of each CPU's pages."""
    at = data.index(TABLE) + len(TABLE)
    found = []
    while len(found) == 0 or at + 16 * len(found) + 16 <= found[0][0]:
        offset, size = struct.unpack_from("<QQ", data, at + 16 * len(found))
        if offset % PAGE or offset + size > len(data) or (offset == 0 and found):
            break
        found.append((offset, size))
    return at, found


def stamps(page):
    """Offsets of absolute times in a page; all other times are relative."""
    end = 16 + (struct.unpack_from("<Q", page, 8)[0] & 0x7ffffff)
    at = 16
    while at + 8 <= end:
        head, word = struct.unpack_from("<II", page, at)
        if head & 31 == 31:
            yield at
        at += 4 + (4 * (head & 31) if 0 < head & 31 < 29 else 4 if head & 31 > 29 else word + 3 & ~3)


def shifted(page, at, by):
    """The page with all times shifted."""
    page = bytearray(page)
    struct.pack_into("<Q", page, 0, struct.unpack_from("<Q", page)[0] + by)
    for i in at:
        head, word = struct.unpack_from("<II", page, i)
        time = (word << 27 | head >> 5) + by
        struct.pack_into("<II", page, i, (time & (1 << 27) - 1) << 5 | 31, time >> 27)
    return page


def main(small, large, times):
    data = open(small, "rb").read()
    table, cpus = rings(data)
    pages = [[data[o + i:o + i + PAGE] for i in range(0, size, PAGE)] for o, size in cpus]
    pages = [[(page, list(stamps(page))) for page in ring] for ring in pages]
    begins = [struct.unpack_from("<Q", page)[0] for ring in pages for page, _ in ring]
    span = max(begins) - min(begins) + 1_000_000_000  # plus the duration of the last page
    head = bytearray(data[:min(o for o, _ in cpus)])
    offset = len(head)
    for i, (_, size) in enumerate(cpus):
        struct.pack_into("<QQ", head, table + 16 * i, offset, size * times)
        offset += size * times
    with open(large, "wb") as out:
        out.write(head)
        for ring in pages:
            for n in range(times):
                out.writelines(shifted(page, at, n * span) for page, at in ring)


if len(sys.argv) != 4:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_tracedat.py SMALL LARGE TIMES - a long trace.dat, from a short one.

The pages of each CPU are repeated, each time later by as long as the short trace
took; so all that is in a page stays as the kernel wrote it.  SMALL is of version 6
(`trace-cmd convert --file-version 6` makes it of others), and so is LARGE.
"""
import struct
import sys

PAGE = 4096
TABLE = b"flyrecord\0"


def rows(data):
    """Where the table of CPUs is, and each CPU's offset and size."""
    at = data.index(TABLE) + len(TABLE)
    found = []
    while len(found) == 0 or at + 16 * len(found) + 16 <= found[0][0]:
        offset, size = struct.unpack_from("<QQ", data, at + 16 * len(found))
        if offset % PAGE or offset + size > len(data) or (offset == 0 and found):
            break
        found.append((offset, size))
    return at, found


def stamps(page):
    """Where in a page the clock is set anew; elsewhere it only goes on."""
    end = 16 + (struct.unpack_from("<Q", page, 8)[0] & 0x7ffffff)
    at = 16
    while at + 8 <= end:
        head, word = struct.unpack_from("<II", page, at)
        if head & 31 == 31:
            yield at
        at += 4 + (4 * (head & 31) if 0 < head & 31 < 29 else 4 if head & 31 > 29 else word + 3 & ~3)


def later(page, at, by):
    """The page, with all its times later."""
    page = bytearray(page)
    struct.pack_into("<Q", page, 0, struct.unpack_from("<Q", page)[0] + by)
    for i in at:
        head, word = struct.unpack_from("<II", page, i)
        time = (word << 27 | head >> 5) + by
        struct.pack_into("<II", page, i, (time & (1 << 27) - 1) << 5 | 31, time >> 27)
    return page


def main(small, large, times):
    data = open(small, "rb").read()
    table, cpus = rows(data)
    pages = [[data[o + i:o + i + PAGE] for i in range(0, size, PAGE)] for o, size in cpus]
    pages = [[(page, list(stamps(page))) for page in row] for row in pages]
    begins = [struct.unpack_from("<Q", page)[0] for row in pages for page, _ in row]
    span = max(begins) - min(begins) + 1_000_000_000  # the last page takes time too
    head = bytearray(data[:min(o for o, _ in cpus)])
    offset = len(head)
    for i, (_, size) in enumerate(cpus):
        struct.pack_into("<QQ", head, table + 16 * i, offset, size * times)
        offset += size * times
    with open(large, "wb") as out:
        out.write(head)
        for row in pages:
            for n in range(times):
                out.writelines(later(page, at, n * span) for page, at in row)


if len(sys.argv) != 4:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_ctf.py TRACE COPIES OUT - extend a CTF trace for benchmarks.

TRACE is a directory written by LTTng on x86-64 with large event headers, such as the
one in tests/data/ctf/lttng-kernel.tar.zst.  Its packets are written COPIES times in
sequence.  The copies are shifted by a multiple of 2^32 ns, so timestamps of events,
which contain the low 32 bits, do not change; only the start times of packets and the
full timestamp in the first event of a stream do.
"""
import pathlib
import struct
import sys

CONTEXT = struct.Struct("<QQQQQ")  # begin, end, content and packet size in bits, number
CONTEXT_AT = 32  # after magic, uuid, stream and instance
FIRST_EVENT = struct.Struct("<HIQ")  # extended header: marker, type, time
FIRST_EVENT_AT = CONTEXT_AT + 52
EXTENDED = 65535
WRAP = 1 << 32  # ns


def packets(data):
    at = 0
    while at < len(data):
        begin, end, content, size, number = CONTEXT.unpack_from(data, at + CONTEXT_AT)
        yield begin, end, number, data[at : at + size // 8]
        at += size // 8


def shifted(packet, distance, number):
    packet = bytearray(packet)
    begin, end, content, size, _ = CONTEXT.unpack_from(packet, CONTEXT_AT)
    CONTEXT.pack_into(packet, CONTEXT_AT, begin + distance, end + distance, content, size, number)
    marker, kind, time = FIRST_EVENT.unpack_from(packet, FIRST_EVENT_AT)
    if marker == EXTENDED:
        FIRST_EVENT.pack_into(packet, FIRST_EVENT_AT, marker, kind, time + distance)
    return packet


def main():
    source, copies, target = pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    streams = {f.name: list(packets(f.read_bytes())) for f in sorted(source.iterdir())
               if f.is_file() and f.name != "metadata"}
    begin = min(p[0] for s in streams.values() for p in s)
    end = max(p[1] for s in streams.values() for p in s)
    distance = (end - begin + WRAP) // WRAP * WRAP
    target.mkdir(parents=True)
    (target / "metadata").write_bytes((source / "metadata").read_bytes())
    for name, stream in streams.items():
        with open(target / name, "wb") as out:
            for copy in range(copies):
                for _, _, number, packet in stream:
                    out.write(shifted(packet, copy * distance, number + copy * len(stream)))


if __name__ == "__main__":
    main()

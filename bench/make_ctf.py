#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_ctf TRACE COPIES OUT - a long CTF trace out of a short one, for measuring.

TRACE is a directory that LTTng wrote on x86-64 with large event headers, as the
one in tests/data/lttng-kernel.tar.zst.  Its packets are written COPIES times, one
copy behind the other.  The distance of the copies is a multiple of 2^32 ns: the
times of events, which hold the low 32 bits, then stay as they are, and only the
beginnings of packets change, and the whole time that a stream's first event has.
"""
import pathlib
import struct
import sys

CONTEXT = struct.Struct("<QQQQQ")  # begin, end, content and packet size in bits, number
CONTEXT_AT = 32  # behind magic, uuid, stream and instance
FIRST_EVENT = struct.Struct("<HIQ")  # an extended header: mark, type, time
FIRST_EVENT_AT = CONTEXT_AT + 52
EXTENDED = 65535
TURN = 1 << 32


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
    mark, kind, time = FIRST_EVENT.unpack_from(packet, FIRST_EVENT_AT)
    if mark == EXTENDED:
        FIRST_EVENT.pack_into(packet, FIRST_EVENT_AT, mark, kind, time + distance)
    return packet


def main():
    source, copies, target = pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    streams = {f.name: list(packets(f.read_bytes())) for f in sorted(source.iterdir())
               if f.is_file() and f.name != "metadata"}
    begin = min(p[0] for s in streams.values() for p in s)
    end = max(p[1] for s in streams.values() for p in s)
    distance = (end - begin + TURN) // TURN * TURN
    target.mkdir(parents=True)
    (target / "metadata").write_bytes((source / "metadata").read_bytes())
    for name, stream in streams.items():
        with open(target / name, "wb") as out:
            for copy in range(copies):
                for _, _, number, packet in stream:
                    out.write(shifted(packet, copy * distance, number + copy * len(stream)))


if __name__ == "__main__":
    main()

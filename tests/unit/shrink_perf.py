#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shrink_perf.py FROM TO - reduce and anonymise a recording of perf.

tests/data/good/perf-calls.data was recorded as root:

    perf record -a -k CLOCK_MONOTONIC -m 64 -o /tmp/x.data -e sched:sched_switch,sched:sched_waking,\\
        sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit,raw_syscalls:*,irq:* \\
        --exclude-perf -- sh -c 'sleep 0.03; echo 7 | cat >/dev/null'
    shrink_perf.py /tmp/x.data perf-calls.data

Context switches and wakeups of other programs remain, under the name "other".  Of
the features, those that sonde reads remain; of the rounds, only the last one, so
that the file is not sorted.
"""
import re
import struct
import sys

TRACING, HOST, RELEASE, VERSION, ARCH, CPUS, COMMAND, EVENTS, CLOCK = 1, 3, 4, 5, 6, 7, 11, 12, 29
DATA = 8 + 6 * 8 + 4  # offset in a sample: after IDENTIFIER, IP, TID, TIME, CPU, PERIOD and a size
LOST, COMM, EXIT, FORK, SAMPLE, ROUND, THREAD_MAP = 2, 3, 4, 7, 9, 68, 73
KNOWN = re.compile(rb"(sh|sleep|cat|perf|perf-exec|swapper/\d+|kthreadd|migration/\d+|ksoftirqd/\d+|rcu_\w+|"
                   rb"kworker/[\w:+-]*)\0")


def string(text):
    return struct.pack("<I", len(text) + 1) + text.encode() + b"\0"


def mask(comm):
    return comm if KNOWN.match(comm) else b"other".ljust(len(comm), b"\0")


def sections(data, at, bits):
    for feature in range(64):
        if bits >> feature & 1:
            offset, size = struct.unpack_from("<QQ", data, at)
            yield feature, data[offset:offset + size]
            at += 16


def only_formats(tracing):
    """Removes the formats of ftrace's own events, symbol addresses and names of threads."""
    def passed(at, count):
        for _ in range(count):
            at += 8 + struct.unpack_from("<Q", tracing, at)[0]
        return at

    begin = passed(tracing.index(b"header_event\0") + 13, 1)
    systems = passed(begin + 4, struct.unpack_from("<I", tracing, begin)[0])
    end = systems + 4
    for _ in range(struct.unpack_from("<I", tracing, systems)[0]):
        end = tracing.index(b"\0", end) + 1
        end = passed(end + 4, struct.unpack_from("<I", tracing, end)[0])
    return tracing[:begin] + bytes(4) + tracing[systems:end] + bytes(4 + 4 + 8)


def comm_fields(tracing):
    """Maps an event number to its fields with program names: [(offset, size)]."""
    comm_fields_by_id = {}
    for text in re.findall(rb"name: \w+\nID: \d+\nformat:.*?print fmt", tracing, re.S):
        number = int(re.search(rb"\nID: (\d+)", text)[1])
        comm_fields_by_id[number] = [(int(o), int(s)) for o, s in
                          re.findall(rb"char \w*comm\[\d+\];\toffset:(\d+);\tsize:(\d+)", text)]
    return comm_fields_by_id


def masked_sample(record, comm_fields_by_id):
    record = bytearray(record)
    for offset, size in comm_fields_by_id.get(struct.unpack_from("<H", record, DATA)[0], []):
        begin, end = DATA + offset, DATA + offset + size
        record[begin:end] = mask(bytes(record[begin:end]))
    return bytes(record)


def tids_of(records):
    """The threads of the command that perf started, and of its descendants."""
    tids = set()
    for kind, record in records:
        if kind == COMM and record[16:].startswith(b"perf-exec\0"):
            tids.add(struct.unpack_from("<I", record, 12)[0])
        elif kind == FORK:
            _, parent, tid = struct.unpack_from("<III", record, 8)
            if parent in tids:
                tids.add(tid)
    return tids


def kept_records(data, comm_fields_by_id):
    at, records = 0, []
    while at < len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        records.append((kind, data[at:at + size]))
        at += size
    wanted = tids_of(records)
    for kind, record in records:
        if kind == SAMPLE:
            # of other threads, only context switches and wakeups
            if struct.unpack_from("<I", record, 28)[0] in wanted or any(
                    comm_fields_by_id.get(struct.unpack_from("<H", record, DATA)[0], [])):
                yield masked_sample(record, comm_fields_by_id)
        elif kind in (FORK, EXIT) and struct.unpack_from("<I", record, 16)[0] in wanted:
            yield record
        elif kind == COMM and struct.unpack_from("<I", record, 12)[0] in wanted:
            yield record
        elif kind in (LOST, THREAD_MAP):
            yield record
        elif kind == ROUND:
            rounds = record
    yield rounds


def kept_features(features):
    return {
        TRACING: only_formats(features[TRACING]),
        HOST: string("box"),
        RELEASE: string("6.18.0"),
        VERSION: features[VERSION],
        ARCH: features[ARCH],
        CPUS: features[CPUS],
        COMMAND: struct.pack("<I", 3) + string("perf") + string("record") + string("-a"),
        EVENTS: features[EVENTS],
        CLOCK: features[CLOCK],
    }


def main():
    data = open(sys.argv[1], "rb").read()
    offset, size = struct.unpack_from("<QQ", data, 40)
    features = kept_features(dict(sections(data, offset + size, struct.unpack_from("<Q", data, 72)[0])))
    records = b"".join(kept_records(data[offset:offset + size], comm_fields(features[TRACING])))
    table, body = b"", b""
    begin = offset + len(records) + 16 * len(features)
    for content in features.values():
        table += struct.pack("<QQ", begin + len(body), len(content))
        body += content
    header = bytearray(data[:offset])
    struct.pack_into("<Q", header, 48, len(records))
    struct.pack_into("<QQQQ", header, 72, sum(1 << f for f in features), 0, 0, 0)
    open(sys.argv[2], "wb").write(bytes(header) + records + table + body)


main()

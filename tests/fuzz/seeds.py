#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seeds.py COMPILER DIRECTORY - write seeds for fuzzers that need inputs of their own, one directory for each.

tests/data contains no such files: ELF files with thread-local variables, the metadata and a
stream of a CTF trace in one file, the format of a tracepoint with its data, metrics and logs in JSON, connections of
clients, baselines, sequences of states.  Without seeds the fuzzers do not get past the first checks.
"""
import gzip
import itertools
import json
import pathlib
import re
import sqlite3
import struct
import subprocess
import sys

COMPILER, OUT = sys.argv[1], pathlib.Path(sys.argv[2])
TESTS = pathlib.Path(__file__).resolve().parent.parent
PACKET = struct.Struct("<I16sIIIBBBBB")  # header of a metadata packet
PACKET_MAGIC = 0x75D11D57
STREAM_MAX = 16384  # maximum bytes of a stream

FORMAT = """name: {name}
ID: 42
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

{fields}
print fmt: "x"
"""
FIELDS = ("u64 number;\toffset:8;\tsize:8;\tsigned:0;", "char comm[8];\toffset:16;\tsize:8;\tsigned:0;",
          "__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;", "int wide[2];\toffset:28;\tsize:8;\tsigned:1;",
          "__data_loc __u8[] bytes;\toffset:36;\tsize:4;\tsigned:0;", "void * at;\toffset:40;\tsize:8;\tsigned:0;",
          "__rel_loc char[] near;\toffset:48;\tsize:4;\tsigned:0;", "s16 small;\toffset:52;\tsize:2;\tsigned:1;",
          "unsigned char mac[6];\toffset:54;\tsize:6;\tsigned:0;")


def write(fuzzer, name, data):
    folder = OUT / f"seeds-fuzz_{fuzzer}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def tracepoint_formats():
    """Formats of a tracepoint with one field and with all fields, each with data."""
    data = struct.pack("<HBBiQ8siiiiQihh4s", 42, 0, 0, 7, 1 << 40, b"worker\0\0", 60 | 5 << 16, -1, 2, 65 | 3 << 16,
                       0xFFFF888000000000, 8 | 4 << 16, -3, 0, b"mac!") + b"disk\0abcnear\0"
    for i, fields in enumerate([*([field] for field in FIELDS), FIELDS]):
        text = FORMAT.format(name="x", fields="".join(f"\tfield:{field}\n" for field in fields))
        write("probe_format", str(i), text.encode() + b"\0" + data)


def plain_metadata(data):
    """The text of metadata in packets."""
    text, at = b"", 0
    while at < len(data):
        magic, _, _, content, size, *_ = PACKET.unpack_from(data, at)
        if magic != PACKET_MAGIC:
            return data
        text += data[at + PACKET.size:at + content // 8]
        at += size // 8
    return text


def traces():
    """The metadata of each CTF trace with the start of each stream."""
    for number, metadata in enumerate(sorted((TESTS / "data" / "ctf").rglob("metadata"))):
        text = plain_metadata(metadata.read_bytes())
        for stream in sorted(path for path in metadata.parent.iterdir() if path.is_file() and path != metadata):
            write("ctf", f"{number}-{stream.name}", text + b"\0" + stream.read_bytes()[:STREAM_MAX])


def programs():
    """Libraries and executables with the thread-local variable, in all forms that linkers produce."""
    source = TESTS / "workloads" / "ctx_var.c"
    small = ["-Os", "-nostdlib", "-fuse-ld=bfd", "-Wl,-z,noseparate-code", "-Wl,--build-id=none",
             "-fno-asynchronous-unwind-tables", "-Wl,-z,max-page-size=4096"]
    models = (["-ftls-model=initial-exec"], ["-ftls-model=global-dynamic", "-DCTX_ROOM=48"], ["-mtls-dialect=gnu2"],
              ["-ftls-model=global-dynamic", "-DCTX_OWN"])
    forms = [["-shared", "-fPIC", *model, f"-Wl,--hash-style={style}"]
             for model, style in itertools.product(models, ("gnu", "sysv"))]
    forms += [["-pie", "-fPIE", "-rdynamic", "-Wl,-e,ctx_set"], ["-static", "-Wl,-e,ctx_set"]]
    for number, form in enumerate(forms):
        path = OUT / "program"
        if subprocess.run([COMPILER, *small, *form, "-o", path, source]).returncode == 0:
            write("tls_elf", str(number), path.read_bytes())
            path.unlink()


def requests():
    """Export requests with metrics and logs, in JSON, and rules for slow spans."""
    number = {"attributes": [{"key": "k", "value": {"kvlistValue": {"values": [{"key": "n", "value": {
        "arrayValue": {"values": [{"intValue": "-1"}, {"bytesValue": "AQ=="}, {"boolValue": True}]}}}]}}}],
              "timeUnixNano": "1700000000000000000", "exemplars": [{"asInt": "7", "spanId": "eee19b7ec3c1b174"}]}
    metrics = [{"name": "n", "gauge": {"dataPoints": [number | {"asDouble": 0.5}]}},
               {"sum": {"dataPoints": [number | {"asInt": "1"}], "aggregationTemporality": 2, "isMonotonic": True}},
               {"histogram": {"dataPoints": [{"bucketCounts": ["1", 2], "explicitBounds": [1.5], "sum": "NaN"}]}},
               {"exponentialHistogram": {"dataPoints": [{"scale": -2, "positive": {"bucketCounts": [1, "2"]}}]}},
               {"summary": {"dataPoints": [{"quantileValues": [{"quantile": 0.5, "value": 1}]}]}}]
    records = [{"severityNumber": "SEVERITY_NUMBER_INFO", "body": {"stringValue": "text"}, "flags": 1}]
    for name, request in {"metrics": {"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]},
                          "logs": {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}}.items():
        write("from_json", name, json.dumps(request).encode())
    write("slow_rules", "rules", b"# rules\n* 'GET /health' none\nfront \"GET /*\" 20ms\npay-? * p99.9\n* [a-z]* all\n")


def hpack(headers):
    """Headers as literals that are not indexed, without Huffman coding."""
    return b"".join(b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
                    for name, value in headers)


def frame(kind, flags, stream, payload):
    """A frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def grpc_call(stream, method, message, flag=0, encoding="gzip", pieces=1):
    """The frames of a call: DATA is 0, HEADERS is 1; END_STREAM is 1, END_HEADERS is 4."""
    block = hpack([(":method", "POST"), (":scheme", "http"), (":path", f"/opentelemetry.proto.collector.{method}/Export"),
                   (":authority", "a"), ("content-type", "application/grpc"), ("grpc-encoding", encoding)])
    body = bytes([flag]) + struct.pack(">I", len(message)) + message
    size = -(-len(body) // pieces)
    parts = [body[at:at + size] for at in range(0, len(body), size)]
    data = [frame(0, part is parts[-1], stream, part) for part in parts]
    return frame(1, 4, stream, block) + b"".join(data)


def grpc_connections():
    """Calls, alone and several on one connection, and all other frames of HTTP/2."""
    settings = frame(4, 0, 0, b"")
    methods = ["trace.v1.TraceService", "metrics.v1.MetricsService", "logs.v1.LogsService", "x"]
    for number, method in enumerate(methods):
        write("grpc", f"plain-{number}", settings + grpc_call(1, method, b"spans"))
    write("grpc", "gzip", settings + grpc_call(1, methods[0], gzip.compress(b"spans" * 20), 1))
    write("grpc", "bomb", settings + grpc_call(1, methods[0], gzip.compress(bytes(1 << 17)), 1))
    write("grpc", "encoding", settings + grpc_call(1, methods[0], b"spans", 1, "zstd"))
    write("grpc", "pieces", settings + grpc_call(1, methods[0], b"spans" * 20, pieces=50))
    write("grpc", "several", settings + b"".join(grpc_call(2 * i + 1, methods[i % 4], b"x" * i) for i in range(12)))
    others = [frame(6, 0, 0, b"pingpong"), frame(8, 0, 0, b"\0\0\1\0"), frame(3, 0, 1, b"\0\0\0\x08"),
              frame(2, 0, 3, b"\0\0\0\0\x10"), frame(4, 0, 0, b"\0\4\0\0\0\0"), frame(4, 1, 0, b""),
              frame(7, 0, 0, b"\0\0\0\1\0\0\0\0bye")]
    for number, other in enumerate(others):
        write("grpc", f"other-{number}", settings + grpc_call(1, methods[0], b"spans") + other + grpc_call(3, methods[0], b""))
    call = grpc_call(1, methods[0], b"spans")
    length = int.from_bytes(call[:3], "big")
    write("grpc", "continuation", settings + frame(1, 0, 1, call[9:19]) + frame(9, 4, 1, call[19:9 + length]) + call[9 + length:])
    write("grpc", "padded", settings + call[:9 + length] + frame(0, 9, 1, b"\3" + call[18 + length:] + b"\0\0\0"))


def http_requests():
    """Requests that are accepted, refused, compressed, chunked and pipelined."""
    def post(path, kind, body, more=""):
        return (f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                f"{more}\r\n").encode() + body
    protobuf, compressed = "application/x-protobuf", "Content-Encoding: gzip\r\n"
    requests = [post("/v1/traces", protobuf, b"spans"), post("/v1/metrics", "application/json", b"{}"),
                post("/v1/logs", protobuf, gzip.compress(b"logs"), compressed),
                post("/v1/traces", protobuf, gzip.compress(bytes(1 << 17)), compressed),
                post("/v1/traces", protobuf, b"x", "Origin: http://a\r\n"), post("/v1/traces", "text/plain", b"x"),
                b"POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-protobuf\r\nTransfer-Encoding: chunked"
                b"\r\n\r\n3\r\nspa\r\n2;x=y\r\nns\r\n0\r\nX: y\r\n\r\n",
                post("/v1/traces", protobuf, b"spans", "Expect: 100-continue\r\n"),
                b"GET /status?a=b HTTP/1.1\r\nHost: a\r\nCookie: a=b\r\n\r\n", b"HEAD /status HTTP/1.0\r\n\r\n"]
    for number, request in enumerate(requests):
        write("http", str(number), request)
    write("http", "pipeline", b"".join(requests[:-1]))


def replies():
    """Replies of a collector to an export: HTTP and gRPC, with all that sonde reads of them."""
    details = b"grpc-status-details-bin: CAgaMgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIGCgQIARAA\r\n"
    protobuf = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n"
    partial = b"\x0a\x0b\x08\x03\x12\x07too old"
    write("otlp_reply", "partial", b"\0\0" + protobuf + partial)
    write("otlp_reply", "status", b"\0\7" + protobuf + b"\x08\x0e\x12\x04busy")
    write("otlp_reply", "text", b"\0\2HTTP/1.1 400 Bad\r\n\r\nno such tenant")
    write("otlp_reply", "grpc", b"\1\0HTTP/2 200\r\n\r\n\0\0\0\0\x0d" + partial + b"\ngrpc-status: 0\r\n")
    write("otlp_reply", "retry", b"\1\0HTTP/2 200\r\ngrpc-status: 8\r\ngrpc-message: a%20b\r\n" + details)


def baseline_schema():
    """The SQL of the tables, from the program."""
    source = (TESTS.parent / "src" / "store" / "schema.c").read_text()
    for table in re.findall(r'"CREATE TABLE.*?(?="\s*,)', source, flags=re.DOTALL):
        yield re.sub(r'"\s*"', "", table).strip('"').replace("\\n", "\n")


def baseline(name, spans, intervals, runs, traits=b""):
    """A baseline with small pages and equal spans, enough of them for a profile."""
    db = sqlite3.connect(":memory:")
    db.executescript("PRAGMA page_size = 512; PRAGMA application_id = 0x736f6e62; PRAGMA user_version = 1;")
    for table in baseline_schema():
        db.execute(table)
    options = {"support": 0.95, "gap_least": 0, "gap_most": 2, "closed_at_ends": 0, "sigma": 3, "cv": 0.5}
    db.executemany("INSERT INTO options VALUES (?, ?)", options.items())
    db.execute("INSERT INTO recordings VALUES (7, 1000000, 1, 1, 0, 0, 0)")
    db.execute("INSERT INTO types VALUES (3, 4, 1, 's', 'o')")
    db.executemany("INSERT INTO keys VALUES (?, 5, ?)", [(kind, spans) for kind in ("position", "subtree", "operation")])
    for i in range(spans):
        db.execute("INSERT INTO spans VALUES (?, 7, ?, 5, 5, 5, 3, 0, 's', 'o', 9, 1, 8, 7, 0, 0, 1, ?, ?, ?)",
                   (i, i % 4, intervals, runs, traits))
    db.commit()
    write("baseline", name, db.serialize())


def baselines():
    """Baselines, and the intervals and runs of a span without a file."""
    states = [(b"\1\5\0\0\0\0\0", b"R\5"), (b"\2\x80\1\0\0\0\0\0\1\3\1\1\1\0\0", b"R\7D\xff\x7fN\3"), (b"", b"")]
    for number, (intervals, runs) in enumerate(states):
        write("baseline", f"states-{number}", bytes([len(intervals)]) + intervals + runs)
        baseline(f"file-{number}", 24, intervals, runs)
    traits = b"\0\1n\x0e" + b"\1\1c\3red" + b"\3\0\4main"
    write("baseline", "traits", b"\0" + traits)
    baseline("file-traits", 24, *states[0], traits)
    baseline("empty", 0, b"", b"")


def sequences():
    words = [b"RNRNR", b"RNRDRDR", b"RTRNRNRDR", b"RDRDRDTRDRDT", b"RN" * 40]
    for number, (support, least, most) in enumerate(((1, 0, 0), (2, 0, 2), (3, 1, 2), (4, 0, 3))):
        for closed in (0, 1):
            write("mine", f"{number}-{closed}", bytes((support, least, most, closed)) + b"\0".join(words))


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    tracepoint_formats()
    traces()
    programs()
    requests()
    grpc_connections()
    http_requests()
    replies()
    baselines()
    sequences()


main()

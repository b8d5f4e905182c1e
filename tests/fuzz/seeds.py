#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seeds.py COMPILER DIRECTORY - write seeds for fuzzers that need inputs of their own, one directory for each.

tests/data contains no such files: ELF files with thread-local variables, the metadata and a
stream of a CTF trace in one file, the format of a tracepoint with its data.  Without seeds the
fuzzers do not get past the first checks.
"""
import itertools
import pathlib
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


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    tracepoint_formats()
    replies()
    traces()
    programs()


main()

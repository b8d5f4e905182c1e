#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make C of the .proto files: generate.py PROTOC_C SOURCE_DIR OUT_DIR FILE.proto...

protoc-c writes a file for each, in folders as deep as theirs, which meson cannot
be told of.  So OUT_DIR/otlp.pb-c.c and .h include them all.  protoc-c before 1.5
refuses optional fields of proto3; it gets the oneof by which they are defined.
"""
import pathlib
import re
import subprocess
import sys

protoc, source, out, *protos = sys.argv[1:]
plain = pathlib.Path(out) / "protos"
for proto in protos:
    text = (pathlib.Path(source) / proto).read_text()
    (plain / proto).parent.mkdir(parents=True, exist_ok=True)
    (plain / proto).write_text(re.sub(r"optional (\w+ (\w+) = \d+;)", r"oneof _\2 { \1 }", text))
subprocess.run([protoc, f"--proto_path={plain}", f"--c_out={out}", *protos], check=True)
for end in "ch":
    lines = [f'#include "{proto.removesuffix(".proto")}.pb-c.{end}"\n' for proto in protos]
    (pathlib.Path(out) / f"otlp.pb-c.{end}").write_text("".join(lines))

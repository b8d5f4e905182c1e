#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make C of the .proto files: generate.py PROTOC_C SOURCE_DIR OUT_DIR FILE.proto...

protoc-c writes a file for each, in folders as deep as theirs, which meson cannot
be told of.  So OUT_DIR/otlp.pb-c.c and .h include them all.
"""
import pathlib
import subprocess
import sys

protoc, source, out, *protos = sys.argv[1:]
subprocess.run([protoc, f"--proto_path={source}", f"--c_out={out}", *protos], check=True)
for end in "ch":
    lines = [f'#include "{proto.removesuffix(".proto")}.pb-c.{end}"\n' for proto in protos]
    (pathlib.Path(out) / f"otlp.pb-c.{end}").write_text("".join(lines))

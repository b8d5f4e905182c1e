#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Send all signals from OpenTelemetry's SDK for Python to the servers of the relay: receive.py RECEIVE SCRATCH

The SDK comes from PyPI and is kept in SCRATCH/receive_sdk; without network, the test is skipped.
Prints TAP.
"""
import os
import pathlib
import subprocess
import sys

import pypi

PACKAGES = ["opentelemetry-sdk==1.39.1", "opentelemetry-exporter-otlp-proto-http==1.39.1",
            "opentelemetry-exporter-otlp-proto-grpc==1.39.1"]
TIMEOUT = 240
ENV = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | {"no_proxy": "*"}


def main():
    receive, scratch = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    try:
        python = pypi.install(scratch / "receive_sdk", PACKAGES)
    except pypi.Skip as skip:
        print(skip)
        sys.exit(77)
    script = pathlib.Path(__file__).resolve().parent / "receive_export.py"
    sys.exit(subprocess.run([python, script, receive], env=ENV, timeout=TIMEOUT).returncode)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Send spans to servers that are not ours, with both protocols, plain and with TLS: relay.py RELAY_SEND SCRATCH

gRPC's server comes from PyPI and is kept in SCRATCH/send; without network, the test is skipped.  Prints TAP.
"""
import json
import os
import pathlib
import subprocess
import sys

import pypi

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["grpcio==1.85.1", "opentelemetry-proto==1.45.2"]
COUNT, BAD = 1009, 13
ENV = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | {"no_proxy": "*"}


def certificate(scratch):
    """A self-signed certificate for 127.0.0.1, and its key."""
    files = [str(scratch / "certificate.pem"), str(scratch / "key.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=sonde test",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
                   check=True, capture_output=True)
    return files


def exchange(python, relay_send, protocol, files, **settings):
    """The names of the spans that arrived, and the output of relay_send."""
    collector = subprocess.Popen([python, HERE / "relay_collector.py", protocol, *files], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, env=ENV)
    with collector:
        try:
            port = int(collector.stdout.readline())
            env = {"ENDPOINT": f"http{'s' * bool(files)}://127.0.0.1:{port}",
                   "PROTOCOL": "grpc" if protocol == "grpc" else "http/protobuf"} | settings
            seconds = "3" if "fails" in settings else "20"
            done = subprocess.run([relay_send, str(COUNT), seconds], capture_output=True, text=True, timeout=120,
                                  env=ENV | {f"OTEL_EXPORTER_OTLP_{name}": value for name, value in env.items()})
            assert done.returncode == 0, done.stderr
            names, _ = collector.communicate("\n", timeout=60)
        finally:
            collector.kill()
    return json.loads(names), done.stdout


def check(names, output):
    """All spans but the bad one arrived once and in order."""
    assert names == [f"span {n}" for n in range(1, COUNT + 1) if n != BAD], f"{len(names)} spans: {names[:20]}"
    assert output.startswith(f"{COUNT - 1} 1 "), output


def main():
    relay_send, scratch = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    try:
        python = pypi.install(scratch / "send_sdk", PACKAGES)
    except pypi.Skip as skip:
        print(skip)
        sys.exit(77)
    files = certificate(scratch)
    tls = {"CERTIFICATE": files[0], "CLIENT_CERTIFICATE": files[0], "CLIENT_KEY": files[1]}
    cases = [(f"{protocol} {name}", protocol, used, settings) for protocol in ("grpc", "http") for name, used, settings in (
        ("plain", [], {}), ("compressed", [], {"COMPRESSION": "gzip"}), ("with TLS", files, tls),
        ("with an unknown certificate", files, {"fails": "certificate"}))]
    failed = 0
    print(f"1..{len(cases)}")
    for number, (name, protocol, used, settings) in enumerate(cases, 1):
        reason = ""
        try:
            names, output = exchange(python, relay_send, protocol, used, **settings)
            if "fails" in settings:
                assert not names and settings["fails"] in output, (len(names), output)
            else:
                check(names, output)
        except (AssertionError, ValueError, subprocess.SubprocessError) as e:
            reason = repr(e)
        failed += bool(reason)
        print(f"{'not ok' if reason else 'ok'} {number} - {name}" + (f"\n# {reason}" if reason else ""), flush=True)
    sys.exit(failed > 0)


main()

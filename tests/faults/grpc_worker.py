# SPDX-License-Identifier: Apache-2.0
"""A gRPC server in Python has one worker, and several clients call it at a time."""
import subprocess

import runtimes
import services

TRUTH = r"(sleeps|works|busy)[^,]* for (client|another|\d+ other)|(?<!run-)queue"
PARTLY = r"sleeps|worker"


def start(lab):
    port = lab.port()
    return lab.service("pricing", runtimes.python(lab), services.SOURCES / "pricing.py", port, port=port)


def client(lab):
    command = [runtimes.python(lab), services.SOURCES / "pricing_client.py", lab.port(), 4, lab.seconds]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True,
                          timeout=services.PATIENCE + lab.seconds)
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]

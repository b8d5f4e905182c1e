# SPDX-License-Identifier: Apache-2.0
"""HAProxy sends one request at a time to a server; the others wait in HAProxy's queue."""
import services

NEEDS = ["haproxy"]
TRUTH = r"(?<!run-)queue|(sleeps|works|busy)[^,]* for (client|another|\d+ other)"
PARTLY = r"haproxy|backend|sleeps"

CONFIGURATION = """
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
listen shop
    bind 127.0.0.1:{port}
    server backend 127.0.0.1:{backend} maxconn 1
"""


def start(lab):
    backend, port, file = lab.port("backend"), lab.port(), lab.directory / "haproxy.cfg"
    file.write_text(CONFIGURATION.format(port=port, backend=backend))
    lab.service("backend", lab.compile("backend.c"), backend, port=backend)
    return lab.service("haproxy", "haproxy", "-db", "-f", file, port=port)


def client(lab):
    return lab.load(lab.port(), "/page", connections=5, pause=40)

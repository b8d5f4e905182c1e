# SPDX-License-Identifier: Apache-2.0
"""A client sends the second half of its request 80 ms after the first."""
import socket
import time

# The service waits for its client.
TRUTH = r"(?=.*(waits|network))(?=.*(client|127\.0\.0\.1:\d+))"
PARTLY = r"network|client"


def start(lab):
    return lab.service("archive", lab.compile("archive.c"), lab.port(), "2", port=lab.port())


def client(lab):
    results, until = [], time.monotonic() + lab.seconds
    with socket.create_connection(("127.0.0.1", lab.port())) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while time.monotonic() < until:
            start_ns = time.monotonic_ns()
            s.sendall(b"GET / HTTP/1.1\r\n")
            time.sleep(0.08)
            s.sendall(b"Host: archive\r\n\r\n")
            s.recv(1024)
            results.append((start_ns, time.monotonic_ns() - start_ns))
            time.sleep(0.03)
    return results

# SPDX-License-Identifier: Apache-2.0
"""A client reads a large reply slowly."""
import socket
import time

# Neither the service nor its host is slow: the client does not read, so its window is closed.
TRUTH = r"(?=.*(send buffer|window|does not read|reads slowly))(?=.*(client|peer|127\.0\.0\.1:\d+))"
PARTLY = r"send buffer|client|network|127\.0\.0\.1:\d+"
CHUNK = 64 << 10


def start(lab):
    return lab.service("export", lab.compile("export.c"), lab.port(), port=lab.port())


def client(lab):
    results, until = [], time.monotonic() + lab.seconds
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, CHUNK)
        s.connect(("127.0.0.1", lab.port()))
        while time.monotonic() < until:
            results.append(slow_request(s))
            time.sleep(0.05)
    return results


def slow_request(s):
    start = time.monotonic_ns()
    s.sendall(b"GET / HTTP/1.1\r\nHost: export\r\n\r\n")
    left = None
    while left is None or left > 0:
        data = s.recv(CHUNK)
        if left is None:
            head, _, body = data.partition(b"\r\n\r\n")
            left = int(head.rsplit(b" ", 1)[1]) - len(body)
        else:
            left -= len(data)
        time.sleep(0.004)
    return start, time.monotonic_ns() - start

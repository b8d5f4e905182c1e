# SPDX-License-Identifier: Apache-2.0
"""Clients on slow links: they send a request in two parts, or read its reply with pauses."""
import random
import socket
import threading
import time

ADDRESS = "127.0.1.9"  # of the clients
CONNECTIONS = 3
PAUSE = 0.03  # seconds between requests, on average
DELAY = 0.1  # seconds between the parts of a request
BODY = b"x" * 2000
BUFFER = 1 << 16  # bytes that a slow client can receive at a time
READ_PAUSE = 0.003  # seconds between its reads


def upload(connection, _):
    """Send a request in two parts."""
    connection.sendall(b"POST /file HTTP/1.1\r\nHost: lab\r\nContent-Length: %d\r\n\r\n" % len(BODY))
    time.sleep(DELAY)
    connection.sendall(BODY)
    read_reply(connection, lambda: None)


def download(connection, index):
    """Read a reply; one client of CONNECTIONS is slow."""
    connection.sendall(b"GET /table HTTP/1.1\r\nHost: lab\r\n\r\n")
    read_reply(connection, lambda: index or time.sleep(READ_PAUSE))


def read_reply(connection, pause):
    data, left = b"", None
    while left is None or left > 0:
        part = connection.recv(BUFFER)
        if not part:
            raise ConnectionError("closed before the reply")
        pause()
        if left is not None:
            left -= len(part)
            continue
        data += part
        header, end, body = data.partition(b"\r\n\r\n")
        if end:
            left = int(header.split(b"Content-Length: ")[1].split(b"\r\n")[0]) - len(body)


def drive(port, index, exchange, until, results):
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        connection.bind((ADDRESS, 0))
        connection.connect(("127.0.0.1", port))
        while time.monotonic() < until:
            start = time.monotonic_ns()
            exchange(connection, index)
            results.append((start, time.monotonic_ns() - start))
            time.sleep(random.expovariate(1 / PAUSE))


def run(lab, exchange):
    """Drive the service on CONNECTIONS; returns (send time, latency) of each request in ns."""
    results, until = [], time.monotonic() + lab.seconds
    threads = [threading.Thread(target=drive, args=(lab.port(), i, exchange, until, results))
               for i in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When messages arrive at a socket, and when replies leave the send buffer.

The test itself is recorded: it is both ends of each connection, and its own clock is the truth.
"""
import os
import socket
import threading
import time

from harness import Recorder, equal, main, need_feature, require, seconds, test

STEP = 0.011  # seconds between arrivals, so that the times of two of them differ clearly
SLACK = 1_000_000  # ns that a send or a receive takes at most, without being preempted


def pause():
    time.sleep(STEP)


class Clock:
    """Sends and receives, with the times before and after each call."""

    def __init__(self):
        self.sends, self.lags = [], []

    def send(self, end, data=b"x" * 10):
        before = time.monotonic_ns()
        end.send(data)
        self.sends.append((before, time.monotonic_ns()))

    def receive(self, end, size, send):
        """Receive; the first byte is of the send with this number."""
        before = time.monotonic_ns()
        data = end.recv(size)
        after = time.monotonic_ns()
        sent = self.sends[send]
        self.lags.append((len(data), before - sent[1], after - sent[0]))


def tcp_pair():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client = socket.create_connection(listener.getsockname())
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client, listener.accept()[0]


def compare(recorder, clock):
    """Each receive has a lag between the two that its thread measured."""
    receives = recorder.capture().kind("message", direction="receive", tid=threading.get_native_id())
    equal([m["bytes"] for m in receives], [n for n, _, _ in clock.lags], "bytes of each receive")
    for i, (m, (_, least, most)) in enumerate(zip(receives, clock.lags)):
        lag = m.get("lag", 0)
        require(least - SLACK <= lag <= most + SLACK,
                f"receive {i}: arrived {seconds(lag)} before, want {seconds(least)} to {seconds(most)}")
    return receives


def record_self():
    need_feature("arrivals")
    return Recorder("-p", os.getpid())


def exchange(client, server, clock, reads):
    """Three messages arrive; `reads` has the size of each receive, and the message that it begins in."""
    for _ in range(3):
        clock.send(client)
        pause()
    for size, message in reads:
        clock.receive(server, size, message - 3)


@test
def bytes_that_a_receive_leaves_behind_keep_their_arrival():
    clock = Clock()
    with record_self() as recorder:
        client, server = tcp_pair()
        exchange(client, server, clock, [(5, 0), (5, 0), (10, 1), (100, 2)])
        exchange(client, server, clock, [(15, 0), (100, 1)])
    compare(recorder, clock)


@test
def requests_that_wait_to_be_accepted_have_arrived():
    clock = Clock()
    with record_self() as recorder, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        for i in range(3):
            client = socket.create_connection(listener.getsockname())
            clock.send(client)
            pause()
            server = listener.accept()[0]
            pause()
            clock.receive(server, 100, i)
    receives = compare(recorder, clock)
    equal([m.get("before_accept") for m in receives], [True] * 3, "arrival before the accept")


@test
def datagrams_and_unix_messages_have_arrived():
    clock = Clock()
    with record_self() as recorder:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            client, server = socket.socketpair(socket.AF_UNIX, kind)
            client.send(b"first")
            server.recv(100)  # the recorder knows a socket from its first message on
            clock.lags.append((5, -SLACK, SLACK))
            exchange(client, server, clock, [(10, 0), (10, 1), (10, 2)])
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.1", 0))
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.connect(server.getsockname())
        client.send(b"first")
        server.recv(100)
        clock.lags.append((5, -SLACK, SLACK))
        exchange(client, server, clock, [(10, 0), (10, 1), (10, 2)])
    compare(recorder, clock)


def serve_in_two_sends(server, count):
    for _ in range(count):
        server.recv(100)
        server.send(b"h" * 20)
        server.send(b"b" * 30)


def receive_all(end, size, delay=0.0):
    """Receive `size` bytes; returns when the last of them was there."""
    while size:
        size -= len(end.recv(min(size, 20000)))
        last = time.monotonic_ns()
        time.sleep(delay)
    return last


def compare_transmits(recorder, server, ends, reason):
    """The last bytes of each reply leave at most SLACK before the client has them."""
    capture = recorder.capture()
    transmits = [t for t in capture.kind("transmit") if t["object_id"] == os.fstat(server.fileno()).st_ino]
    held = [m for m in capture.kind("message", direction="send", object_id=os.fstat(server.fileno()).st_ino)
            if m.get("held")]
    require(transmits, "no transmit")
    equal({t["position"] for t in transmits}, {m["position"] for m in held}, "positions of held sends")
    equal({t["reason"] for t in transmits}, {reason}, "reasons")
    for t in transmits:
        after = min((end for end in ends if end >= t["left"]), default=None)
        require(after is not None, "the reply left after the client had it")
    return transmits


@test
def nagle_holds_a_reply_until_the_client_acknowledges():
    need_feature("send buffer")
    with record_self() as recorder:
        client, server = tcp_pair()
        thread = threading.Thread(target=serve_in_two_sends, args=(server, 7))
        thread.start()
        begins, ends = [], []
        for _ in range(7):
            begins.append(time.monotonic_ns())
            client.send(b"request")
            ends.append(receive_all(client, 50))
        thread.join()
    transmits = compare_transmits(recorder, server, ends, "nagle")
    # the client acknowledges after 40 ms; on a busy host, it can have some of the replies late
    late = [t for t in transmits if any((begin + end) / 2 < t["left"] <= end for begin, end in zip(begins, ends))]
    require(len(late) > len(transmits) / 2, f"{len(late)} of {len(transmits)} transmits are in the second half of a request")


@test
def a_slow_reader_holds_the_reply():
    need_feature("send buffer")
    size = 300_000
    with record_self() as recorder, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        client.connect(listener.getsockname())
        server = listener.accept()[0]
        server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        begin = time.monotonic_ns()
        server.send(b"x" * size)
        end = receive_all(client, size, 0.003)
        client.send(b"next")  # acknowledges the last bytes
        pause()
    transmits = compare_transmits(recorder, server, [end], "window")
    equal(len(transmits), 1, "transmits")
    require(transmits[0]["left"] - begin > (end - begin) * 3 // 4,
            f"left after {seconds(transmits[0]['left'] - begin)} of {seconds(end - begin)}")


main()

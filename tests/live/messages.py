#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Messages: sender, receiver, connection, and position in the stream."""
import itertools

from harness import each, equal, main, need_feature, record, require, test, workload

WRAP = 1 << 32


def parts(messages):
    """(begin, end) of each message in its stream, relative to the start of the first one."""
    base = messages[0]["position"] - messages[0]["bytes"]
    return [((m["position"] - m["bytes"] - base) % WRAP, (m["position"] - base) % WRAP) for m in messages]


@test
def each_receive_is_a_range_of_the_sent_stream():
    need_feature("messages")
    capture, truth = record(*workload("stream", 211))
    sends = capture.kind("message", direction="send", tid=truth["sender"], object_type="inet")
    receives = capture.kind("message", direction="receive", tid=truth["pid"], object_type="inet")
    equal([m["bytes"] for m in receives], truth["received"], "bytes of each receive")
    for name, messages in (("sends", sends), ("receives", receives)):
        ranges = parts(messages)
        equal([begin for begin, _ in ranges[1:]], [end for _, end in ranges[:-1]], f"begins of {name}")
    ends = {end for _, end in parts(sends)}
    missing = set(itertools.accumulate(truth["sent"])) - ends
    equal(missing, set(), "ends of sends that are missing")  # sendfile may have several
    equal(parts(sends)[-1][1], sum(truth["sent"]), "bytes sent")
    equal(parts(receives)[-1][1], sum(truth["sent"]), "bytes received")
    equal(sends[0]["position"] - sends[0]["bytes"], receives[0]["position"] - receives[0]["bytes"],
          "where the stream begins, by both")


@test
def both_ends_name_the_connection():
    need_feature("messages")
    capture, truth = record(*workload("stream", 11))
    sends = {(m["local"], m["peer"]) for m in capture.kind("message", direction="send", tid=truth["sender"])}
    receives = {(m["peer"], m["local"]) for m in capture.kind("message", direction="receive", tid=truth["pid"])}
    equal(sends, receives, "ends of the connection")
    equal([peer for _, peer in sends], [f"127.0.0.1:{truth['port']}"], "the receiver's address")


@test
def a_connection_goes_through_its_states():
    need_feature("connections")
    capture, truth = record(*workload("stream", 11))
    server = f"127.0.0.1:{truth['port']}"
    client = [(s["old_state"], s["new_state"]) for s in capture.kind("socket_state", peer=server)]
    equal(client[:2], [("CLOSE", "SYN_SENT"), ("SYN_SENT", "ESTABLISHED")], "states of the client")
    require(("ESTABLISHED", "FIN_WAIT1") in client, f"the client closes first: {client}")
    accepted = [(s["old_state"], s["new_state"]) for s in capture.kind("socket_state", local=server)]
    require(("SYN_RECV", "ESTABLISHED") in accepted, f"states of the server: {accepted}")
    require(("ESTABLISHED", "CLOSE_WAIT") in accepted, f"states of the server: {accepted}")


@each(("unix", "unix"), ("tcp6", "inet"), ("udp", "inet"))
def handoffs_are_messages(channel, thing):
    need_feature("messages")
    capture, truth = record(*workload("handoff", channel, 53))
    for me, other in (("0", "1"), ("1", "0")):
        sends = capture.kind("message", direction="send", tid=truth.track("release." + me)["tid"], object_type=thing)
        receives = capture.kind("message", direction="receive", tid=truth.track("wait." + other)["tid"],
                                object_type=thing)
        equal([m["bytes"] for m in sends], [8] * 53, "bytes of each send")
        equal([m["bytes"] for m in receives], [8] * 53, "bytes of each receive")
        if channel == "tcp6":
            equal([m["position"] for m in receives], [m["position"] for m in sends], "positions")


main()

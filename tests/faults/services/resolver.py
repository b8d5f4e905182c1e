# SPDX-License-Identifier: Apache-2.0
"""resolver [N] - a DNS server at 127.0.1.53 that returns one address; one query in N is slow, by default in 16."""
import itertools
import socketserver
import struct
import sys
import time

ADDRESS = bytes([127, 0, 0, 1])
A, INTERNET, TTL = 1, 1, 0
SLOW = int(sys.argv[1]) if len(sys.argv) > 1 else 16
count = itertools.count()


class Resolver(socketserver.BaseRequestHandler):
    def handle(self):
        query, socket = self.request
        end = query.index(b"\0", 12) + 5  # of the question
        kind = struct.unpack("!H", query[end - 4:end - 2])[0]
        if next(count) % SLOW == 0:
            time.sleep(0.15)
        answers = 1 if kind == A else 0
        reply = query[:2] + struct.pack("!HHHHH", 0x8180, 1, answers, 0, 0) + query[12:end]
        if answers:
            reply += struct.pack("!HHHIH", 0xC00C, A, INTERNET, TTL, len(ADDRESS)) + ADDRESS
        socket.sendto(reply, self.client_address)


socketserver.ThreadingUDPServer(("127.0.1.53", 53), Resolver).serve_forever()

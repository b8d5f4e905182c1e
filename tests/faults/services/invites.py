# SPDX-License-Identifier: Apache-2.0
"""invites PORT - resolve the host of a mail server in each request."""
import socket

import web


def handle(_):
    return socket.getaddrinfo("smtp.example.com", 25, proto=socket.IPPROTO_TCP)[0][4][0] + "\n"


web.serve(handle)

# SPDX-License-Identifier: Apache-2.0
"""scores PORT SOCKET - scores, ranked by a service behind a Unix socket."""
import socket
import sys
import threading

import web

local = threading.local()


def handle(path):
    if not hasattr(local, "ranking"):
        local.ranking = socket.socket(socket.AF_UNIX)
        local.ranking.connect(sys.argv[2])
    local.ranking.sendall(b"rank\n")
    return local.ranking.recv(64).decode()


web.serve(handle)

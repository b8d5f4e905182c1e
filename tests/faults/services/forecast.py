# SPDX-License-Identifier: Apache-2.0
"""forecast PORT VENDOR BACKEND - a forecast of a vendor at 127.0.1.80, or after a timeout of a backend."""
import sys
import urllib.request

import web

TIMEOUT = 0.08


def handle(path):
    try:
        with urllib.request.urlopen(f"http://127.0.1.80:{sys.argv[2]}{path}", timeout=TIMEOUT) as reply:
            return reply.read().decode()
    except TimeoutError:
        with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[3]}{path}") as reply:
            return reply.read().decode()


web.serve(handle)

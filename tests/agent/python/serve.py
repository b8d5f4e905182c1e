#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gunicorn with the application of shop.py, under load: serve.py FILE COUNT OPTION...

Each client sends COUNT requests; OPTIONs are gunicorn's; the truth about the spans goes to FILE.  Every request
must get the right reply.
"""
import concurrent.futures
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys

CLIENTS = 4
HERE = pathlib.Path(__file__).resolve().parent


def call(port, client, count):
    """Send requests, one connection each; returns the number of right replies."""
    right = 0
    for i in range(count):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        number = client * 1000 + i
        connection.request("GET", f"/task/{number}", headers={
            "traceparent": f"00-{number + 1:032x}-{client + 1:08x}{i + 1:08x}-01"})
        response = connection.getresponse()
        right += response.status == 200 and response.read() == str(number * 2).encode()
        connection.close()
    return right


def main():
    truth, count, *options = sys.argv[1:]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, fd = listener.getsockname()[1], listener.fileno()
        server = subprocess.Popen([sys.executable, "-m", "gunicorn", "--bind", f"fd://{fd}", *options, "shop:app"],
                                  pass_fds=[fd], cwd=HERE, env=os.environ | {"TRUTH": os.path.abspath(truth)})
        try:
            with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
                right = sum(pool.map(lambda client: call(port, client, int(count)), range(CLIENTS)))
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait()
    if right != CLIENTS * int(count) or code:
        sys.exit(f"{right} of {CLIENTS * int(count)} requests got the right reply; gunicorn exits with {code}")


main()

# SPDX-License-Identifier: Apache-2.0
"""A WSGI application that waits for a slow library in each request."""
import time


def application(_, start_response):
    time.sleep(0.03)
    body = b"17 left\n"
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]

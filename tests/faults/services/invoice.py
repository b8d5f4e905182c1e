# SPDX-License-Identifier: Apache-2.0
"""invoice PORT - one process and one thread: each request computes, and the next connection waits."""
import hashlib
import http.server
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    wbufsize = -1

    def do_GET(self):
        digest = hashlib.pbkdf2_hmac("sha256", b"invoice", b"salt", 25_000).hex()
        self.send_response(200)
        self.send_header("Content-Length", str(len(digest)))
        self.end_headers()
        self.wfile.write(digest.encode())

    def log_message(self, *_):
        pass


http.server.HTTPServer.request_queue_size = 128
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

# SPDX-License-Identifier: Apache-2.0
"""A small HTTP server with a thread per connection, for the Python services of the fault lab."""
import http.server
import sys


def serve(handle, address="127.0.0.1"):
    """Serve at the port of the first argument; handle(path) returns the body of a reply."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # header and body leave in one segment

        def do_GET(self):
            body = handle(self.path).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 128

    Server((address, int(sys.argv[1])), Handler).serve_forever()

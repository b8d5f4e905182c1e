#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A collector with gRPC's own server or Python's HTTP server, run by relay.py: PROTOCOL [CERTIFICATE KEY]

Rejects requests with a span named "span 13", once each with a temporary failure first.  Prints its port; after
a line on stdin, the names of all spans as JSON.  With a certificate, it uses TLS and requires one of its clients.
"""
import concurrent.futures
import gzip
import http.server
import json
import pathlib
import ssl
import sys
import threading

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

BAD = "span 13"
names, state = [], {"failures": 1}


def names_of(request):
    return [span.name for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]


class Service(trace_service_pb2_grpc.TraceServiceServicer):
    def Export(self, request, context):
        got = names_of(request)
        if state["failures"]:
            state["failures"] -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "überlastet: later")
        if BAD in got:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "bad luck")
        names.extend(got)
        return trace_service_pb2.ExportTraceServiceResponse()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
        got, status = names_of(request), 200
        if state["failures"]:
            state["failures"] -= 1
            status = 503
        elif BAD in got or self.path != "/v1/traces":
            status = 400
        else:
            names.extend(got)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def serve_grpc(files):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Service(), server)
    if files:
        certificate, key = (pathlib.Path(file).read_bytes() for file in files)
        credentials = grpc.ssl_server_credentials([(key, certificate)], certificate, True)
        number = server.add_secure_port("127.0.0.1:0", credentials)
    else:
        number = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, number


def serve_http(files):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if files:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=files[0])
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(*files)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_address[1]


protocol, *files = sys.argv[1:]
running, port = (serve_grpc if protocol == "grpc" else serve_http)(files)  # ends with its last reference
print(port, flush=True)
sys.stdin.readline()
print(json.dumps(names), flush=True)

# SPDX-License-Identifier: Apache-2.0
"""pricing PORT - prices over gRPC."""
import concurrent.futures
import sys
import time

import grpc


def price(request, _):
    time.sleep(0.02)  # the database
    return request + b": 42"


server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=1))
handlers = {"Price": grpc.unary_unary_rpc_method_handler(price)}
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Pricing", handlers),))
server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
server.start()
server.wait_for_termination()

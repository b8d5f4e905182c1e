# SPDX-License-Identifier: Apache-2.0
"""pricing_client PORT CONNECTIONS SECONDS - call pricing; print send time and latency of each call in ns."""
import random
import sys
import threading
import time

import grpc


def drive(port, index, end, results):
    # The option makes channels differ; equal ones would share a connection.
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.connection", index)]) as channel:
        call = channel.unary_unary("/Pricing/Price")
        while time.monotonic() < end:
            start = time.monotonic_ns()
            call(b"tea")
            results.append((start, time.monotonic_ns() - start))
            time.sleep(random.expovariate(1 / 0.03))


def main():
    port, connections, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    results, end = [], time.monotonic() + seconds
    threads = [threading.Thread(target=drive, args=(port, i, end, results)) for i in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for start, latency in results:
        print(start, latency)


main()

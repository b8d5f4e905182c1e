# SPDX-License-Identifier: Apache-2.0
"""prices PORT - quote prices, while a thread computes statistics."""
import threading
import time

import web

quotes = {str(i): i * 1.25 for i in range(1000)}
history = []


def compute_statistics():
    while True:
        total = 0
        for i in range(3_000_000):
            total += i * i % 7
        history.append(total)
        time.sleep(0.2)


def handle(path):
    return f"{quotes.get(path[1:], 0)}\n"


threading.Thread(target=compute_statistics, daemon=True).start()
web.serve(handle)

# SPDX-License-Identifier: Apache-2.0
"""inventory PORT - stock of a warehouse; one request in seven reloads it from a slow source."""
import itertools
import time

import web

count = itertools.count()


def handle(_):
    if next(count) % 7 == 0:
        time.sleep(0.12)  # the source
    return '{"stock": 17}\n'


web.serve(handle)

# SPDX-License-Identifier: Apache-2.0
"""vendor PORT - weather at 127.0.1.80; one request in six takes long."""
import itertools
import time

import web

count = itertools.count()


def handle(_):
    if next(count) % 6 == 0:
        time.sleep(0.1)
    return "sunny\n"


web.serve(handle, "127.0.1.80")

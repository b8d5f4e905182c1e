# SPDX-License-Identifier: Apache-2.0
"""barcodes PORT - barcodes, which one process of a pool draws."""
import multiprocessing
import time

import web


def draw(path):
    until, lines = time.thread_time() + 0.018, 0
    while time.thread_time() < until:
        lines += 1
    return f"barcode of {path}\n"


def handle(path):
    return pool.apply(draw, (path,))


if __name__ == "__main__":
    pool = multiprocessing.Pool(1)
    web.serve(handle)

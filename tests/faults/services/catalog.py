# SPDX-License-Identifier: Apache-2.0
"""catalog PORT DATABASE-PORT - search in PostgreSQL, with a pool of one connection."""
import queue
import sys

import psycopg2
import web

pool = queue.Queue()


def open_pool(size):
    for _ in range(size):
        connection = psycopg2.connect(host="127.0.0.1", port=sys.argv[2], user="postgres")
        connection.autocommit = True
        pool.put(connection)


def handle(path):
    connection = pool.get()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.03), count(*) FROM pg_class")
            return f"{cursor.fetchone()[1]}\n"
    finally:
        pool.put(connection)


open_pool(1)
web.serve(handle)

# SPDX-License-Identifier: Apache-2.0
"""articles PORT DATABASE-PORT - articles in PostgreSQL, with a connection per thread."""
import sys
import threading

import psycopg2
import web

local = threading.local()


def connection():
    if not hasattr(local, "connection"):
        local.connection = psycopg2.connect(host="127.0.0.1", port=sys.argv[2], user="postgres", dbname="postgres")
        local.connection.autocommit = True
    return local.connection


def handle(_):
    with connection().cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.03)")
        return "article\n"


web.serve(handle)

# SPDX-License-Identifier: Apache-2.0
"""report PORT DATABASE-PORT - totals from PostgreSQL: /day is cheap, /year is not."""
import sys
import threading

import psycopg2
import web

local = threading.local()
ROWS = {"/day": 100, "/year": 300000}


def connection():
    if not hasattr(local, "connection"):
        local.connection = psycopg2.connect(host="127.0.0.1", port=sys.argv[2], user="postgres")
        local.connection.autocommit = True
    return local.connection


def handle(path):
    with connection().cursor() as cursor:
        cursor.execute("SELECT sum(sqrt(i) * ln(i)) FROM generate_series(1, %s) AS i", (ROWS[path],))
        return f"{cursor.fetchone()[0]}\n"


web.serve(handle)

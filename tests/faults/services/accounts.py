# SPDX-License-Identifier: Apache-2.0
"""accounts PORT DATABASE-PORT - book an amount on an account in PostgreSQL."""
import sys
import threading

import psycopg2
import web

local = threading.local()


def connection():
    if not hasattr(local, "connection"):
        local.connection = psycopg2.connect(host="127.0.0.1", port=sys.argv[2], user="postgres")
        local.connection.autocommit = True
    return local.connection


def handle(path):
    with connection().cursor() as cursor:
        cursor.execute("UPDATE account SET balance = balance + 1 WHERE id = 1 RETURNING balance")
        return f"{cursor.fetchone()[0]}\n"


web.serve(handle)

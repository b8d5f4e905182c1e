# SPDX-License-Identifier: Apache-2.0
"""orders PORT DATABASE-PORT - /add stores an order in PostgreSQL, / lists the orders with their items."""
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


def list_orders(cursor):
    cursor.execute("SELECT id FROM orders ORDER BY id LIMIT 150")
    count = 0
    for (order,) in cursor.fetchall():
        cursor.execute("SELECT name FROM items WHERE order_id = %s", (order,))
        count += len(cursor.fetchall())
    return count


def handle(path):
    with connection().cursor() as cursor:
        if path == "/":
            return f"{list_orders(cursor)}\n"
        cursor.execute("INSERT INTO orders DEFAULT VALUES RETURNING id")
        return f"{cursor.fetchone()[0]}\n"


web.serve(handle)

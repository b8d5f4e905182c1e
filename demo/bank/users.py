# SPDX-License-Identifier: Apache-2.0
"""users - the names and passwords of customers.

A connection to the database is held while the password is checked.  That is common, and harmless
while there are enough connections; the fault `pool` leaves one.  `slow-query@users` reads all
entries to find a name.
"""
import hmac
import time

from flask import abort, jsonify, request

import data
import service

CHECK_SECONDS = 0.03
app = service.create("users")
pool = service.Pool("users")
GOOD_QUERY = "SELECT name FROM customers WHERE account = %s"
SLOW_QUERY = """SELECT name FROM customers c WHERE account = %s AND
    (SELECT count(*) FROM entries e WHERE e.account::text = c.account::text OR e.peer::text = c.account::text) >= 0"""


def is_password(given, salt, expected):
    """Check a password in constant time, so that the duration reveals nothing."""
    until = time.monotonic() + CHECK_SECONDS
    right = hmac.compare_digest(expected, data.password_hash(given, salt))
    time.sleep(max(0, until - time.monotonic()))
    return right


@app.post("/check")
def check():
    given = request.get_json()
    with pool.cursor() as cursor:
        cursor.execute("SELECT name, account, salt, hash FROM customers WHERE login = %s", [given["login"]])
        found = cursor.fetchone()
        if not found:
            abort(403)
        name, account, salt, expected = found
        if not is_password(given["password"], salt, expected):
            abort(403)
        cursor.execute("UPDATE customers SET last_login = now() WHERE account = %s", [account])
    return jsonify(name=name, account=account)


@app.get("/name/<int:account>")
def name_of(account):
    with pool.cursor() as cursor:
        cursor.execute(SLOW_QUERY if service.fault("slow-query@users") else GOOD_QUERY, [account])
        found = cursor.fetchone()
    return jsonify(name=found[0]) if found else abort(404)

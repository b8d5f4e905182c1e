# SPDX-License-Identifier: Apache-2.0
"""contacts - the contacts of a customer, each with the last payment.

This service has two faults.  `slow-query` compares numbers as text, so that the database
cannot use an index and reads all entries for each contact.  `flush` writes an access log and
flushes it to disk many times in each request.
"""
from flask import jsonify

import faults
import service

LINES = 128  # lines of the log per request

GOOD_QUERY = """SELECT name, account, (SELECT max(id) FROM entries e
    WHERE e.account = c.owner AND e.peer = c.account) FROM contacts c WHERE owner = %s ORDER BY name"""
SLOW_QUERY = """SELECT name, account, (SELECT max(id) FROM entries e
    WHERE e.account::text = c.owner::text AND e.peer::text = c.account::text)
    FROM contacts c WHERE owner = %s ORDER BY name"""

app = service.create("contacts")
pool = service.Pool("contacts")


def is_query_slow():
    return service.fault("slow-query") or service.fault("slow-query@contacts")


@app.get("/contacts/<int:account>")
def contacts_of(account):
    if service.fault("flush"):
        faults.write_lines(faults.DIRECTORY / "seen", LINES)
    with pool.cursor() as cursor:
        cursor.execute(SLOW_QUERY if is_query_slow() else GOOD_QUERY, [account])
        return jsonify(cursor.fetchall())

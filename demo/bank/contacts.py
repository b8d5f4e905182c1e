# SPDX-License-Identifier: Apache-2.0
"""contacts - the contacts of a customer, each with the last payment.

This service has two faults.  `slow-query` compares numbers as text, so that the database
cannot use an index and reads all entries for each contact.  `flush` writes an access log and
flushes it to disk many times in each request.
"""
import os
import pathlib

from flask import jsonify

import service

LINES = 128  # lines of the log per request

GOOD_QUERY = """SELECT name, account, (SELECT max(id) FROM entries e
    WHERE e.account = c.owner AND e.peer = c.account) FROM contacts c WHERE owner = %s ORDER BY name"""
SLOW_QUERY = """SELECT name, account, (SELECT max(id) FROM entries e
    WHERE e.account::text = c.owner::text AND e.peer::text = c.account::text)
    FROM contacts c WHERE owner = %s ORDER BY name"""

app = service.create("contacts")
pool = service.Pool()
seen = pathlib.Path(os.environ["BANK_DIRECTORY"]) / "seen"


def log_access(account):
    """Flush each line to disk before the next one."""
    with seen.open("a") as log:
        for i in range(LINES):
            log.write(f"line {i} about {account}\n")
            log.flush()
            os.fsync(log.fileno())


@app.get("/contacts/<int:account>")
def contacts_of(account):
    if service.fault("flush"):
        log_access(account)
    with pool.cursor() as cursor:
        cursor.execute(SLOW_QUERY if service.fault("slow-query") else GOOD_QUERY, [account])
        return jsonify(cursor.fetchall())

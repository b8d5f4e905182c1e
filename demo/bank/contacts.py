# SPDX-License-Identifier: Apache-2.0
"""contacts - whom a customer knows, and by which entry each of them was last paid.

Two faults are here.  `slow-query` compares numbers as text, so that no index helps
and all entries are read for each contact.  `flush` waits for the disk many
times in each request, since who looked at what is to be kept.
"""
import os
import pathlib

from flask import jsonify

import service

LINES = 128  # of the log for each look

GOOD_QUERY = """SELECT name, account, (SELECT max(id) FROM entries e
    WHERE e.account = c.owner AND e.peer = c.account) FROM contacts c WHERE owner = %s ORDER BY name"""
SLOW_QUERY = """SELECT name, account, (SELECT max(id) FROM entries e
    WHERE e.account::text = c.owner::text AND e.peer::text = c.account::text)
    FROM contacts c WHERE owner = %s ORDER BY name"""

app = service.create("contacts")
pool = service.Pool()
seen = pathlib.Path(os.environ["BANK_DIRECTORY"]) / "seen"


def keep_look(account):
    """Each line of it is on the disk before the next is written."""
    with seen.open("a") as log:
        for i in range(LINES):
            log.write(f"line {i} about {account}\n")
            log.flush()
            os.fsync(log.fileno())


@app.get("/contacts/<int:account>")
def contacts_of(account):
    if service.fault("flush"):
        keep_look(account)
    with pool.cursor() as cursor:
        cursor.execute(SLOW_QUERY if service.fault("slow-query") else GOOD_QUERY, [account])
        return jsonify(cursor.fetchall())

# SPDX-License-Identifier: Apache-2.0
"""A job leaves a transaction open for 0.25 s, with a row locked that requests update."""
NEEDS = ["psql", "python3:psycopg2"]
# The backend of the request waits for a lock; the backend that holds it waits for its client.
TRUTH = r"(?=.*\block\b)(?=.*postgres)(?=.*\b(client|idle)\b)"
PARTLY = r"postgres.*(\block\b|while postgres)"
HELD = "0.25"


def start(lab):
    schema = "CREATE TABLE account (id int PRIMARY KEY, balance int, audited timestamptz); INSERT INTO account VALUES (1, 0)"
    database = lab.postgres("fsync=off", schema=schema)
    lab.service("accounts", lab.python("accounts.py"), lab.port(), database, port=lab.port())
    lab.spawn("audit", lab.python("audit.py"), database, HELD)
    return lab.port()


def client(lab):
    return lab.load(lab.port(), "/book", connections=2, pause=40)

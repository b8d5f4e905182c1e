# SPDX-License-Identifier: Apache-2.0
"""All requests share a pool with one connection to PostgreSQL; each query takes 30 ms."""
NEEDS = ["psql", "python3:psycopg2"]
# The request waits for the connection, which other requests use for their queries.
TRUTH = r"(?=.*postgres)(?=.*(\block\b|pool|semaphore|condition|result|other request|another request|client 127))"
PARTLY = r"postgres|pool|lock|condition|result"


def start(lab):
    database = lab.postgres("fsync=off")
    return lab.service("catalog", lab.python("catalog.py"), lab.port(), database, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/search", connections=6, pause=60)

# SPDX-License-Identifier: Apache-2.0
"""A job holds the write lock of a SQLite database; requests poll for it with sleeps in between."""
import sqlite3

# SQLite does not block in the kernel: it sleeps and tries again.
TRUTH = r"notes\.db|file lock|polls|\btr(y|ies)\b.*again|retries"
PARTLY = r"\bsleeps\b"


def start(lab):
    database = lab.directory / "notes.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
    lab.spawn("reindex", lab.python("reindex.py"), database)
    return lab.service("notes", lab.python("notes.py"), lab.port(), database, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/hello", connections=2, pause=40)

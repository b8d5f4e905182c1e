# SPDX-License-Identifier: Apache-2.0
"""reindex DATABASE - a job that keeps a transaction of SQLite open for long."""
import sqlite3
import sys
import time

database = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
while True:
    database.execute("BEGIN IMMEDIATE")
    time.sleep(0.3)  # reads documents elsewhere
    database.execute("COMMIT")
    time.sleep(0.5)

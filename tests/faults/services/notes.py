# SPDX-License-Identifier: Apache-2.0
"""notes PORT DATABASE - store notes in SQLite."""
import sqlite3
import sys
import threading

import web

local = threading.local()


def handle(path):
    if not hasattr(local, "database"):
        local.database = sqlite3.connect(sys.argv[2], timeout=10, isolation_level=None)
    local.database.execute("INSERT INTO notes (text) VALUES (?)", (path,))
    return "stored\n"


web.serve(handle)

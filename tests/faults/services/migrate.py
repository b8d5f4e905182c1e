# SPDX-License-Identifier: Apache-2.0
"""migrate DATABASE-PORT - analyse a table for about 0.4 s now and then, and alter the table meanwhile."""
import sys
import threading
import time

import psycopg2

ANALYSIS = "SELECT sum(sqrt(i + order_id)) FROM items, generate_series(1, 1500000) AS i"
CHANGE = "ALTER TABLE items ALTER COLUMN name SET DEFAULT 'new'"


def connect():
    connection = psycopg2.connect(host="127.0.0.1", port=sys.argv[1], user="postgres")
    connection.autocommit = True
    return connection.cursor()


analyst, migration = connect(), connect()
while True:
    analysis = threading.Thread(target=analyst.execute, args=(ANALYSIS,))
    analysis.start()
    time.sleep(0.05)
    migration.execute(CHANGE)
    analysis.join()
    time.sleep(0.4)

# SPDX-License-Identifier: Apache-2.0
"""audit DATABASE-PORT SECONDS - a job that changes an account and does other work before it commits."""
import sys
import time

import psycopg2

connection = psycopg2.connect(host="127.0.0.1", port=sys.argv[1], user="postgres")
while True:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE account SET audited = now() WHERE id = 1")
        time.sleep(float(sys.argv[2]))  # checks the account elsewhere
        connection.commit()
    time.sleep(0.5)

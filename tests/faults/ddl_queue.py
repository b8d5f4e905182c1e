# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE waits in PostgreSQL for a long SELECT of the same table, and all requests wait behind ALTER TABLE."""
NEEDS = ["psql", "python3:psycopg2"]
# Neither the requests nor the migration would be slow without the process of the SELECT, which computes.
TRUTH = r"(?=.*\block\b)(?=.*postgres.*\bruns\b)"
PARTLY = r"postgres.*(\block\b|while postgres|\bruns\b)"
OF_ENTRY = True  # the statements of the migration are requests to PostgreSQL, too
SCHEMA = """
    CREATE TABLE orders (id serial PRIMARY KEY);
    CREATE TABLE items (order_id int, name text);
    INSERT INTO orders SELECT FROM generate_series(1, 2);
    INSERT INTO items VALUES (1, 'tea');
    ANALYZE;
"""


def start(lab):
    settings = ["fsync=off", "jit=off", "autovacuum=off", "work_mem=256MB", "max_parallel_workers_per_gather=0"]
    database = lab.postgres(*settings, schema=SCHEMA)
    lab.service("orders", lab.python("orders.py"), lab.port(), database, port=lab.port())
    lab.spawn("migrate", lab.python("migrate.py"), database)
    return lab.port()


def client(lab):
    return lab.load(lab.port(), "/", connections=2, pause=40)

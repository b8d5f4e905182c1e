# SPDX-License-Identifier: Apache-2.0
"""A request reads a list from PostgreSQL, and then each of its 150 items with a query of its own."""
NEEDS = ["psql", "python3:psycopg2"]
# That there are many calls, one after another, matters more than what each of them costs.
TRUTH = r"(?=.*15\d)(?=.*(one after another|N\+1))"
PARTLY = r"postgres|orders"
SCHEMA = """
    CREATE TABLE orders (id serial PRIMARY KEY);
    CREATE TABLE items (id serial PRIMARY KEY, order_id int, name text);
    INSERT INTO orders SELECT FROM generate_series(1, 150);
    INSERT INTO items (order_id, name) SELECT id, 'item ' || n FROM orders, generate_series(1, 3) n;
    CREATE INDEX ON items (order_id);
    ANALYZE;
"""


def start(lab):
    database = lab.postgres("fsync=off", schema=SCHEMA)
    return lab.service("orders", lab.python("orders.py"), lab.port(), database, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=2, pause=50)

# SPDX-License-Identifier: Apache-2.0
"""A migration holds a lock on a table of PostgreSQL while it computes; requests cannot read the table."""
NEEDS = ["psql", "python3:psycopg2"]
TRUTH = r"(?=.*\block\b)(?=.*postgres.*\bruns\b)"
PARTLY = r"postgres.*(\block\b|while postgres|runs)"
OF_ENTRY = True  # the statements of the migration are requests to PostgreSQL, too
# The locked statement computes in the database for about 200 ms.
MIGRATION = """
    import sys, time, psycopg2
    connection = psycopg2.connect(host="127.0.0.1", port=sys.argv[1], user="postgres")
    cursor = connection.cursor()
    while True:
        cursor.execute("LOCK TABLE items")
        cursor.execute("SELECT sum(sqrt(i)) FROM generate_series(1, 1000000) AS i")
        connection.commit()
        time.sleep(0.3)
"""


def start(lab):
    schema = "CREATE TABLE orders (id serial PRIMARY KEY); CREATE TABLE items (order_id int, name text);" \
             "INSERT INTO orders SELECT FROM generate_series(1, 2)"
    database = lab.postgres("fsync=off", "jit=off", schema=schema)
    script = lab.directory / "migrate.py"
    script.write_text("\n".join(line[4:] for line in MIGRATION.splitlines()))
    lab.spawn("migrate", lab.python(script), database)
    return lab.service("orders", lab.python("orders.py"), lab.port(), database, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=2, pause=30)

# SPDX-License-Identifier: Apache-2.0
"""PgBouncer has one connection to PostgreSQL for all clients; each query takes 30 ms."""
NEEDS = ["psql", "pgbouncer", "python3:psycopg2"]
# The query waits in PgBouncer, while PostgreSQL executes the queries of others.
TRUTH = r"(?=.*(postgres|pgbouncer))(?=.*(another request|other request|client 127|(?<!run-)queue))"
PARTLY = r"postgres|pgbouncer"
CONFIGURATION = """
[databases]
postgres = host=127.0.0.1 port={database} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
"""


def start(lab):
    database, pool, file = lab.postgres("fsync=off"), lab.port("pgbouncer"), lab.directory / "pgbouncer.ini"
    file.write_text(CONFIGURATION.format(database=database, port=pool))
    lab.service("pgbouncer", "pgbouncer", file, port=pool, user="postgres", cwd="/")
    return lab.service("articles", lab.python("articles.py"), lab.port(), pool, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=5, pause=80)

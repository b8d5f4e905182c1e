# SPDX-License-Identifier: Apache-2.0
"""Commits in PostgreSQL wait for the disk, while a backup writes to it in bursts."""
NEEDS = ["psql", "python3:psycopg2"]
TRUTH = r"postgres.*(fsync|fdatasync).*(pg_wal|WAL|\b0{8}\d)"
PARTLY = r"fsync|fdatasync|disk|pg_wal"


def start(lab):
    database = lab.postgres(schema="CREATE TABLE orders (id serial PRIMARY KEY)")
    lab.service("orders", lab.python("orders.py"), lab.port(), database, port=lab.port())
    lab.spawn("backup", "nice", "-n", "19", lab.compile("backup.c"), lab.directory / "backup.tar")
    return lab.port()


def client(lab):
    return lab.load(lab.port(), "/add", connections=3, pause=20)

# SPDX-License-Identifier: Apache-2.0
"""Some requests run a query that computes for long in PostgreSQL."""
NEEDS = ["psql", "python3:psycopg2"]
TRUTH = r"postgres.*\bruns\b"
PARTLY = r"postgres"


def start(lab):
    database = lab.postgres("fsync=off", "max_parallel_workers_per_gather=0", "jit=off")
    return lab.service("report", lab.python("report.py"), lab.port(), database, port=lab.port())


def client(lab):
    years = lab.start_load(lab.port(), "/year", connections=1, pause=200)
    return lab.load(lab.port(), "/day", connections=2, pause=30) + lab.end_load(years)

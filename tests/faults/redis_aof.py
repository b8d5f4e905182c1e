# SPDX-License-Identifier: Apache-2.0
"""redis flushes its append-only file at each write, while a backup writes to the same disk in bursts."""
NEEDS = ["redis-server", "python3:redis"]
TRUTH = r"redis.*(fsync|fdatasync) of .*aof"
PARTLY = r"redis|fsync|fdatasync"


def start(lab):
    store = lab.redis("--appendonly", "yes", "--appendfsync", "always")
    lab.spawn("backup", "nice", "-n", "19", lab.compile("backup.c"), lab.directory / "backup.tar")
    return lab.service("session", lab.python("session.py"), lab.port(), store, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/17/renew", connections=2, pause=20)

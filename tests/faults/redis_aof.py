# SPDX-License-Identifier: Apache-2.0
<<<<<<< HEAD
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
=======
"""redis flushes each write to a disk that writes 400 KiB/s."""
import services

NEEDS = ["redis-server"]
TRUTH = r"redis.*(fsync|fdatasync|write) .*(appendonly|aof)"
PARTLY = r"redis.*(sync|disk)"


def start(lab):
    slow_disk = lab.limited("io", io_max=f"{services.disk_of(lab.directory)} wbps={400 << 10}")
    port = lab.port("redis")
    return lab.service("redis", slow_disk, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                       "--appendonly", "yes", "--appendfsync", "always", "--dir", lab.directory, port=port)


def client(lab):
    return lab.load(lab.port("redis"), "SET tea 3\r\n", connections=4, pause=40, reply=len("+OK\r\n"))
>>>>>>> 2d46d2b (tests: add faults of proxies, slow clients, timeouts and worker processes)

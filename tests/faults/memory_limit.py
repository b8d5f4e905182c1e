# SPDX-License-Identifier: Apache-2.0
"""The memory limit of a control group evicts the pages of an index, which each request reads again."""
import services

TRUTH = r"memory limit|memory\.(max|limit)"
PARTLY = r"page.*disk|reclaim"
SIZE = 256 << 20
LIMIT = 24 << 20


def start(lab):
    index, port = lab.build / "index.data", lab.port()
    if not index.exists():
        index.write_bytes(bytes(range(256)) * (SIZE // 256))
    group = lab.cgroup("memory", memory_max=LIMIT)
    script = f'echo $$ > {group}/cgroup.procs && exec "$@"'
    return lab.service("lookup", "sh", "-c", script, "sh", lab.compile("lookup.c"), port, index, port=port)

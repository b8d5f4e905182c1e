# SPDX-License-Identifier: Apache-2.0
"""cards PORT REDIS-PORT - business cards, which a worker draws: jobs and results pass through lists in redis."""
import itertools
import sys
import threading

import redis
import web

count = itertools.count()
local = threading.local()


def handle(path):
    if not hasattr(local, "redis"):
        local.redis = redis.Redis(port=int(sys.argv[2]))
    job = next(count)
    local.redis.lpush("jobs", job)
    _, card = local.redis.blpop(f"card:{job}")
    return card.decode()


web.serve(handle)

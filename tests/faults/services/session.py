# SPDX-License-Identifier: Apache-2.0
"""session PORT REDIS-PORT - look sessions up in redis."""
import sys
import threading

import redis
import web

local = threading.local()


def handle(path):
    if not hasattr(local, "redis"):
        local.redis = redis.Redis(port=int(sys.argv[2]))
    user = local.redis.get(f"session:{path[1:]}")
    local.redis.expire(f"session:{path[1:]}", 3600)
    return f"{user}\n"


web.serve(handle)

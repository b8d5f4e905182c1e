# SPDX-License-Identifier: Apache-2.0
"""session PORT REDIS-PORT - look sessions up in redis, or renew them."""
import sys
import threading

import redis
import web

local = threading.local()


def handle(path):
    if not hasattr(local, "redis"):
        local.redis = redis.Redis(port=int(sys.argv[2]))
    session = f"session:{path[1:]}"
    if path.endswith("/renew"):
        return f"{local.redis.set(session, 'renewed')}\n"
    user = local.redis.get(session)
    local.redis.expire(session, 3600)
    return f"{user}\n"


web.serve(handle)

# SPDX-License-Identifier: Apache-2.0
"""cleanup REDIS-PORT - a job that runs a script over all sessions in redis."""
import sys
import time

import redis

SCRIPT = "local n = 0 for i = 1, 6000000 do n = n + i % 7 end return n"
connection = redis.Redis(port=int(sys.argv[1]))
while True:
    connection.eval(SCRIPT, 0)
    time.sleep(0.3)

# SPDX-License-Identifier: Apache-2.0
"""painter REDIS-PORT - a worker that draws business cards; one in five is large."""
import sys
import time

import redis

connection = redis.Redis(port=int(sys.argv[1]))


def draw(job):
    until, dots = time.thread_time() + (0.08 if job % 5 == 0 else 0.002), 0
    while time.thread_time() < until:
        dots += 1
    return f"card {job}\n"


while True:
    _, number = connection.brpop("jobs")
    connection.rpush(f"card:{int(number)}", draw(int(number)))

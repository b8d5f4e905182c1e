# SPDX-License-Identifier: Apache-2.0
"""A script of another client keeps redis busy; commands of requests wait until it ends."""
NEEDS = ["redis-server", "python3:redis"]
# redis runs, but for another client than that of the request.
TRUTH = r"redis.*\bruns\b.*(other (client|request)|client 127|\bqueue\b)"
PARTLY = r"redis"
OF_ENTRY = True  # the script is a request to redis, too


def start(lab):
    store = lab.redis()
    lab.spawn("cleanup", lab.python("cleanup.py"), store)
    return lab.service("session", lab.python("session.py"), lab.port(), store, port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/17", connections=3, pause=30)

# SPDX-License-Identifier: Apache-2.0
"""Jobs wait in the queue of a thread pool; its two workers are busy with other requests."""
TRUTH = r"(?=.*(queue|pool|worker|its turn))(?=.*(result|job|request|client))"
PARTLY = r"queue|pool|worker|sleeps"


def start(lab):
    return lab.service("mailer", lab.python("mailer.py"), lab.port(), port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/welcome", connections=8, pause=60)

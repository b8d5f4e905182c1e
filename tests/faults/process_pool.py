# SPDX-License-Identifier: Apache-2.0
"""A Python service passes each request to the one process of a multiprocessing.Pool; jobs wait while it computes."""
# Most of the latency is the wait for the jobs of other requests, which the other process computes.
TRUTH = r"(?=.*((?<!run-)queue|pool|worker|its turn|another request|other request|client 127))(?=.*\bruns\b)"
PARTLY = r"(?<!run-)queue|pool|worker|another request|other request|\bruns\b"


def start(lab):
    return lab.service("barcodes", lab.python("barcodes.py"), lab.port(), port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/4006381333931", connections=6, pause=30)

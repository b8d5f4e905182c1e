# SPDX-License-Identifier: Apache-2.0
"""A gateway in Node awaits a service that sleeps in one of seven requests."""
import services

NEEDS = ["node"]
TRUTH = r"inventory.*sleeps"
PARTLY = r"inventory"


def start(lab):
    stock, port = lab.port("stock"), lab.port()
    lab.service("inventory", lab.python("inventory.py"), stock, port=stock)
    return lab.service("gateway", "node", services.SOURCES / "gateway.js", port, stock, port=port)

# SPDX-License-Identifier: Apache-2.0
"""A Flask service calls a vendor that is not recorded, and the vendor is slow at times."""
import services

NEEDS = ["python3:flask"]
TRUTH = r"127\.0\.1\.80:\d+"
PARTLY = r"waits in (poll|recv\w*|read)"


def start(lab):
    port, vendor = lab.port(), lab.port("vendor")
    process = lab.spawn("vendor", lab.python("vendor.py"), vendor)
    lab.wait(process, "vendor", lambda: services.connects(vendor, "127.0.1.80"))
    return lab.service("weather", lab.python("weather.py"), port, vendor, port=port)


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=40, connect=True)

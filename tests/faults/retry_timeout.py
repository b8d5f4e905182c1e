# SPDX-License-Identifier: Apache-2.0
"""A replica, which is not recorded, does not reply at times; the service waits 80 ms and asks another one."""
import services

TRUTH = r"127\.0\.1\.80:\d+"
PARTLY = r"timer|waits in (poll|recv\w*)"


def start(lab):
    vendor, backend, port = lab.port("vendor"), lab.port("backend"), lab.port()
    process = lab.spawn("vendor", lab.python("vendor.py"), vendor)
    lab.wait(process, "vendor", lambda: services.connects(vendor, "127.0.1.80"))
    lab.service("backend", lab.compile("backend.c"), backend, port=backend)
    return lab.service("forecast", lab.python("forecast.py"), port, vendor, backend, port=port)

# SPDX-License-Identifier: Apache-2.0
"""payments PORT SOCKET - payments, with a verbose log that is sent to syslog."""
import logging
import logging.handlers
import sys

import web

log = logging.getLogger("payments")
log.setLevel(logging.DEBUG)
log.addHandler(logging.handlers.SysLogHandler(sys.argv[2]))


def handle(path):
    for step in ("received", "checked", "reserved", "booked"):
        log.debug("%s: %s %s", path, step, "." * 1000)
    return "paid\n"


web.serve(handle)

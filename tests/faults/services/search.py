# SPDX-License-Identifier: Apache-2.0
"""search PORT - validate a query with a regular expression."""
import re

import web

VALID = re.compile(r"/(\w+\s?)+$")


def handle(path):
    return "found\n" if VALID.match(path) else "invalid\n"


web.serve(handle)

# SPDX-License-Identifier: Apache-2.0
"""convert PORT CONVERTER - run a converter for each request."""
import subprocess
import sys

import web


def handle(path):
    return subprocess.run([sys.argv[2], "70"], stdout=subprocess.PIPE, text=True).stdout


web.serve(handle)

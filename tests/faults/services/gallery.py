# SPDX-License-Identifier: Apache-2.0
"""gallery PORT RENDERER - thumbnails, from a renderer at the other end of two pipes."""
import subprocess
import sys
import threading

import web

renderer = subprocess.Popen([sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
lock = threading.Lock()


def handle(path):
    with lock:
        renderer.stdin.write(f"{path}\n")
        return renderer.stdout.readline()


web.serve(handle)

# SPDX-License-Identifier: Apache-2.0
"""hog.py FILE - while FILE exists, eight processes run in endless loops on their CPU."""
import os
import pathlib
import sys
import time

PROCESSES = 8
INTERVAL = 0.05  # seconds
switch = pathlib.Path(sys.argv[1])
pathlib.Path("/proc/self/comm").write_text("hog")

for _ in range(PROCESSES - 1):
    if os.fork() == 0:
        break
parent = os.getppid()
while os.getppid() == parent:
    again = time.monotonic() + INTERVAL
    if not switch.exists():
        time.sleep(INTERVAL)
    while time.monotonic() < again:
        pass

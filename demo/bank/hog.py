# SPDX-License-Identifier: Apache-2.0
"""hog.py FILE - while FILE is there, eight processes take all of the CPU they are on."""
import os
import pathlib
import sys
import time

PROCESSES = 8
LOOK_AGAIN = 0.05  # seconds
switch = pathlib.Path(sys.argv[1])
pathlib.Path("/proc/self/comm").write_text("hog")

for _ in range(PROCESSES - 1):
    if os.fork() == 0:
        break
parent = os.getppid()
while os.getppid() == parent:
    again = time.monotonic() + LOOK_AGAIN
    if not switch.exists():
        time.sleep(LOOK_AGAIN)
    while time.monotonic() < again:
        pass

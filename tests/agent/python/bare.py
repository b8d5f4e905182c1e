#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what a program without SDK can observe of its own process, as JSON."""
import asyncio
import atexit
import builtins
import contextvars
import copy
import json
import os
import re
import signal
import sys
import threading

asyncio.run(asyncio.sleep(0))
copy.deepcopy({"a": [1]})
exec("x = 1", {"__name__": "asyncio"})  # looks like the import of a followed module
print(re.sub("0x[0-9a-f]+", "0x", json.dumps({
    "path": sys.path, "modules": sorted(sys.modules), "builtin": sys.builtin_module_names, "flags": repr(sys.flags),
    "finders": repr(sys.meta_path), "hooks": repr(sys.path_hooks), "threads": [thread.name for thread in threading.enumerate()],
    "tasks": len(os.listdir("/proc/self/task")), "argv": sys.argv, "exits": atexit._ncallbacks(),
    "environment": {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"},
    "files": [(fd, os.readlink(f"/proc/self/fd/{fd}").partition(":")[0]) for fd in sorted(os.listdir("/proc/self/fd"))
              if os.path.exists(f"/proc/self/fd/{fd}")],
    "signals": [repr(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
    "functions": repr((builtins.exec, contextvars.Context.run, contextvars.ContextVar.set, asyncio.Task.__init__)),
    "trace": repr((sys.gettrace(), sys.getprofile())),
})))

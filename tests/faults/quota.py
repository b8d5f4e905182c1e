# SPDX-License-Identifier: Apache-2.0
"""A control group with a quota of 20 ms of CPU time per 100 ms throttles a service."""
TRUTH = r"quota|throttled"
PARTLY = r"waits for a CPU|control group"


def start(lab):
    group = lab.cgroup("cpu", cpu_max="20000 100000")
    command = ["sh", "-c", f"echo $$ >{group}/cgroup.procs; exec \"$@\"", "sh", lab.compile("quote.c")]
    return lab.service("quote", *command, lab.port(), "6", port=lab.port())


def client(lab):
    return lab.load(lab.port(), "/", connections=3, pause=60)

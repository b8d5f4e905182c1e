# SPDX-License-Identifier: Apache-2.0
"""A service resolves a name in each request, and the resolver, which is not recorded, is slow at times."""
import pathlib

import services

NEEDS = ["unshare"]
TRUTH = r"127\.0\.1\.53|DNS|resolver"
PARTLY = r"waits in (poll|recv\w*)"
LISTENS = "3501007F:0035"  # 127.0.1.53:53


def start(lab):
    port, configuration = lab.port(), lab.directory / "resolv.conf"
    configuration.write_text("nameserver 127.0.1.53\n")
    process = lab.spawn("resolver", lab.python("resolver.py"))
    lab.wait(process, "resolver", lambda: LISTENS in pathlib.Path("/proc/net/udp").read_text())
    # A mount namespace, so that the configuration of the host does not change.
    script = f'mount --bind {configuration} /etc/resolv.conf && exec "$@"'
    return lab.service("invites", "unshare", "-m", "sh", "-c", script, "sh", services.PYTHON,
                       services.SOURCES / "invites.py", port, port=port)

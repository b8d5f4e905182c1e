# SPDX-License-Identifier: Apache-2.0
"""Name lookups occupy all threads of libuv in a Node service, so that reads of a file wait until the resolver replies."""
import pathlib

import services

NEEDS = ["node", "unshare"]
# The file is cached: its reads wait for a thread of libuv's pool, and those threads wait for the resolver.
TRUTH = r"127\.0\.1\.53|DNS|resolver"
PARTLY = r"(?<!run-)queue|pool|worker|libuv|another request|other request"
LISTENS = "3501007F:0035"  # 127.0.1.53:53


def start(lab):
    port, configuration, page = lab.port(), lab.directory / "resolv.conf", lab.directory / "page.html"
    configuration.write_text("nameserver 127.0.1.53\n")
    page.write_text("<p>news</p>\n" * 100)
    process = lab.spawn("resolver", lab.python("resolver.py"), 1)
    lab.wait(process, "resolver", lambda: LISTENS in pathlib.Path("/proc/net/udp").read_text())
    # A mount namespace, so that the configuration of the host does not change.
    script = f'mount --bind {configuration} /etc/resolv.conf && exec "$@"'
    return lab.service("feeds", "unshare", "-m", "sh", "-c", script, "sh", "node", services.SOURCES / "feeds.js", port,
                       page, port=port)


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=50)

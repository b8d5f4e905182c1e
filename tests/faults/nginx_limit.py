# SPDX-License-Identifier: Apache-2.0
"""nginx delays requests above a rate of 25 per second (limit_req)."""
import runtimes

NEEDS = ["nginx"]
TRUTH = r"nginx.*(timer|delay|sleeps)"
PARTLY = r"nginx"


def start(lab):
    archive = lab.port("archive")
    lab.service("archive", lab.compile("archive.c"), archive, "1", port=archive)
    return runtimes.nginx(lab, f"limit_req zone=all burst=100; proxy_pass http://127.0.0.1:{archive};",
                          "limit_req_zone $server_port zone=all:1m rate=25r/s;")


def client(lab):
    return lab.load(lab.port(), "/", connections=6, pause=60)

# SPDX-License-Identifier: Apache-2.0
"""nginx passes requests on to a service that flushes a journal in each of them."""
import runtimes

NEEDS = ["nginx"]
TRUTH = r"store.*(fsync|fdatasync) of .*journal"
PARTLY = r"fsync|fdatasync|store"
LOCATION = 'proxy_pass http://store; proxy_http_version 1.1; proxy_set_header Connection "";'


def start(lab):
    store = lab.port("store")
    lab.service("store", lab.compile("store.c"), store, lab.directory / "journal", port=store)
    return runtimes.nginx(lab, LOCATION, f"upstream store {{ server 127.0.0.1:{store}; keepalive 8; }}")


def client(lab):
    return lab.load(lab.port(), "/", connections=4, pause=10)

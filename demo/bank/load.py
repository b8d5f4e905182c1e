#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulate customers of the bank: each one logs in, views the home page, logs out, and repeats.

usage: load.py [--seconds N] [--users N] [--rate N] [--json] PORT

Visits start at random times, RATE per second of all customers; a customer who is late starts at
once.  With --rate=0, customers do not pause.  Every reply is compared with the expected one.
Exits with 1 if one was wrong.

The load runs in one thread and uses a hundredth of the CPU time of the bank.
"""
import argparse
import asyncio
import json
import os
import random
import sys
import time
import urllib.parse

import data

OPERATIONS = ("login", "home", "logout")
PATIENCE = 120  # timeout of a request, in seconds


class Wrong(Exception):
    """A reply differs from the expected one."""


class Figures:
    """The latencies and trace ids of all requests, by operation.

    typical, slow and slowest are the trace ids of the requests at p50, p95 and max.
    """

    def __init__(self):
        self.answers = {name: [] for name in OPERATIONS}
        self.wrong = []

    def of(self, name):
        times = sorted(self.answers[name])
        if not times:
            return {"count": 0}
        at = lambda share: times[min(int(share * len(times)), len(times) - 1)]  # noqa: E731
        return {"count": len(times), "p50": at(0.5)[0], "p95": at(0.95)[0], "p99": at(0.99)[0], "max": times[-1][0],
                "typical": at(0.5)[1], "slow": at(0.95)[1], "slowest": times[-1][1]}

    def summary(self, seconds):
        return {"seconds": seconds, "per_second": sum(map(len, self.answers.values())) / seconds,
                "wrong": self.wrong, "operations": {name: self.of(name) for name in OPERATIONS}}


class Visitor:
    def __init__(self, port, customer, page, figures):
        self.port, self.customer, self.page, self.figures = port, customer, page, figures
        self.cookie = ""

    async def visit(self):
        try:
            form = urllib.parse.urlencode({"login": self.customer.login, "password": self.customer.password})
            self.expect(await self.ask("login", "POST", form), {"welcome": self.customer.name})
            self.expect(await self.ask("home", "GET"), self.page)
            self.expect(await self.ask("logout", "POST"), {"goodbye": True})
        except (Wrong, OSError, ValueError, asyncio.TimeoutError, asyncio.IncompleteReadError) as problem:
            self.figures.wrong.append(f"{self.customer.login}: {problem!r}")

    def expect(self, got, expected):
        if got != expected:
            raise Wrong(f"{got}, not {expected}")

    async def ask(self, name, method, form=""):
        began = time.monotonic()
        head, body = await asyncio.wait_for(self.exchange(name, method, form), PATIENCE)
        took = time.monotonic() - began
        status, *lines = head.decode().split("\r\n")
        headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in lines)}
        if " 200 " not in status:
            raise Wrong(f"{name} returns {status}")
        self.cookie = headers.get("set-cookie", self.cookie).split(";")[0]
        self.figures.answers[name].append((took, headers["x-trace-id"]))
        return json.loads(body)

    async def exchange(self, name, method, form):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"{method} /{name} HTTP/1.1\r\nHost: bank\r\nConnection: close\r\nCookie: {self.cookie}\r\n"
                     f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n\r\n{form}"
                     .encode())
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.read()
        writer.close()
        return head[:-4], body


async def come_again(visitor, chance, rate, until):
    """Visit at random times, on average RATE per second; without pauses if rate is 0."""
    due = time.monotonic()
    while True:
        due += chance.expovariate(rate) if rate else 0
        await asyncio.sleep(max(0, min(due, until) - time.monotonic()))
        if time.monotonic() >= until:
            return
        await visitor.visit()


async def customers_come(args):
    made, figures, began = data.customers(), Figures(), time.monotonic()
    chance = random.Random(args.seed)
    visitors = [Visitor(args.port, customer, data.home_page(customer, made), figures)
                for customer in list(made.values())[:args.users]]
    await asyncio.gather(*(come_again(visitor, random.Random(chance.random()), args.rate / len(visitors),
                                      began + args.seconds) for visitor in visitors))
    return figures.summary(time.monotonic() - began)


def show(summary):
    print(f"{'':8}{'replies':>8}{'p50':>10}{'p95':>10}{'p99':>10}{'slowest':>10}")
    for name, row in summary["operations"].items():
        times = [f"{1000 * row[key]:.1f} ms" for key in ("p50", "p95", "p99", "max")] if row["count"] else []
        print(f"{name:8}{row['count']:8}" + "".join(f"{text:>10}" for text in times))
    print(f"{summary['per_second']:.1f} replies per second, {len(summary['wrong'])} wrong")
    for problem in summary["wrong"][:3]:
        print(problem[:500])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--users", type=int, default=data.CUSTOMERS, choices=range(1, data.CUSTOMERS + 1),
                        metavar=f"1-{data.CUSTOMERS}")
    parser.add_argument("--rate", type=float, default=15, help="visits per second of all customers")
    parser.add_argument("--seed", type=int, default=1, help="seed of the start times")
    parser.add_argument("--json", action="store_true", help="write JSON, with times in seconds")
    parser.add_argument("port", type=int)
    return parser.parse_args()


def main():
    args = parse()
    summary = asyncio.run(customers_come(args))
    if args.json:
        print(json.dumps(summary, indent=1))
    else:
        show(summary)
    return 1 if summary["wrong"] or not summary["operations"]["logout"]["count"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(1)  # without a traceback

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Customers of the bank that print each request as it ends: time and latency in seconds, operation.

usage: customers.py [options of demo/bank/load.py] PORT

Times are of CLOCK_MONOTONIC, the clock of sonde's records.
"""
import asyncio
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "demo" / "bank"))
sys.dont_write_bytecode = True
import load  # noqa: E402


class Printed(list):
    """The requests of an operation, of which none are kept: the load can run for hours."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    def append(self, request):
        print(f"{time.monotonic():.6f} {request[0]:.6f} {self.name}", flush=True)


class Figures(load.Figures):
    def __init__(self):
        super().__init__()
        self.answers = {name: Printed(name) for name in load.OPERATIONS}


load.Figures = Figures
print("\n".join(f"wrong {problem}" for problem in asyncio.run(load.customers_come(load.parse()))["wrong"]))

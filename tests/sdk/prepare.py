#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Install the packages and programs that later tests need: prepare.py BUILD

Tests that record run one at a time.  Downloads and compilers use one CPU, if any, so they run
beside other tests instead, before these.  A later test installs what is still missing.  Prints TAP.
"""
import os
import pathlib
import sys

BUILD = pathlib.Path(sys.argv[1]).resolve()
TESTS = pathlib.Path(__file__).resolve().parent.parent
os.environ |= {"SONDE": str(BUILD / "sonde"), "WORKLOADS": str(BUILD / "tests/agent/python")}
sys.dont_write_bytecode = True
sys.path[:0] = [str(TESTS / "agent" / "python"), str(TESTS.parent / "demo" / "bank")]
import binding  # noqa: E402
import setup  # noqa: E402

STEPS = {"packages of the agent's tests": binding.sdk, "packages for eager tasks": binding.eager_sdk,
         "the bank": lambda: setup.make(BUILD / "bank")}


def main():
    print(f"1..{len(STEPS)}")
    for number, (name, install) in enumerate(STEPS.items(), 1):
        try:
            install()
            print(f"ok {number} - {name}", flush=True)
        except (binding.Skip, setup.Missing) as why:
            print(f"ok {number} - {name} # SKIP {str(why).splitlines()[0]}", flush=True)


main()

# SPDX-License-Identifier: Apache-2.0
"""Python in the benchmarks of the agent: a program that does deeds, and a service; see agent_python.py."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tests" / "sdk"))
import pypi  # noqa: E402

NAME = "Python, opentelemetry-sdk"
PROGRAM = HERE / "agent_python.py"


def python(build):
    """One that has the SDK, from PyPI; None where it cannot be had."""
    if not (build / "src/agent/python/libsonde-agent-python.so").exists():
        return None
    try:
        return pypi.install(build / "bench/python", pypi.OPENTELEMETRY)
    except pypi.Skip as skip:
        print(skip)
        return None


def program(build):
    found = python(build)
    return found and [found, PROGRAM]


def service(build):
    found = python(build)
    return found and (lambda port: [found, "-m", "gunicorn", "--chdir", HERE, "--bind", f"127.0.0.1:{port}",
                                    "--worker-class", "sync", "--log-level", "critical", "agent_python:make_app()"])

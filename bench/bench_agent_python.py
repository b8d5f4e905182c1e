# SPDX-License-Identifier: Apache-2.0
"""The Python programs of the benchmarks of the agent: operations, and a service; see agent_python.py."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tests" / "sdk"))
import pypi  # noqa: E402

NAME = "Python, opentelemetry-sdk"
PROGRAM = HERE / "agent_python.py"


def python(build):
    """A Python interpreter with the SDK from PyPI; None if PyPI is unreachable."""
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

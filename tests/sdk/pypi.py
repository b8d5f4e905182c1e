# SPDX-License-Identifier: Apache-2.0
"""A Python with packages from PyPI, installed once into the build folder.

A failed installation is remembered for a while, because many tests need it.
"""
import fcntl
import pathlib
import shutil
import subprocess
import sys
import time

# An SDK with the instrumentation of a server; its parts must have matching versions.  All
# versions are fixed, so that a new release cannot break a test.
OPENTELEMETRY = ["opentelemetry-sdk==1.39.1", "opentelemetry-exporter-otlp-proto-http==1.39.1",
                 "opentelemetry-instrumentation-flask==0.60b1", "flask==3.1.3", "gunicorn==27.0.0"]
TIMEOUT = 240  # seconds per step; the timeout of a test is several times as long
PATIENCE = 900  # seconds until the next attempt


class Skip(Exception):
    """The packages are not available."""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"'{command[0]}' exits with {done.returncode}")


def install(scratch, packages, base=sys.executable):
    """The Python of a virtual environment with these packages, created by `base` in `scratch`."""
    python, ready, failed = scratch / "bin" / "python", scratch / "ready", pathlib.Path(f"{scratch}.failed")
    wanted = "\n".join(packages)
    scratch.parent.mkdir(parents=True, exist_ok=True)
    with open(pathlib.Path(f"{scratch}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in parallel
        if ready.exists() and ready.read_text() == wanted:
            return python
        if failed.exists() and time.time() - failed.stat().st_mtime < PATIENCE:
            raise Skip(failed.read_text())
        shutil.rmtree(scratch, ignore_errors=True)
        try:
            run(base, "-m", "venv", scratch)
            run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
                "--timeout", "10", *packages)
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            failed.write_text(f"cannot install packages: {str(e).strip().splitlines()[-1]}")
            raise Skip(failed.read_text()) from e
        ready.write_text(wanted)
    return python

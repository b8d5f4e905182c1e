# SPDX-License-Identifier: Apache-2.0
"""Set up the bank in BUILD/bank, which takes about a minute.

    python    a virtual environment with the packages of requirements.txt, from PyPI
    bin       ledger and balance; their libraries are in BUILD/otel-cpp, from Debian, not installed
    data      a PostgreSQL database with the customers; each run uses a copy

Only parts whose sources have changed are made again.
"""
import fcntl
import glob
import hashlib
import os
import pathlib
import pwd
import shutil
import subprocess
import sys

import data

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = ["opentelemetry-cpp-dev", "libabsl-dev", "libcpp-httplib-dev", "libhiredis-dev", "libpq-dev"]
LINKED = ["opentelemetry_exporter_otlp_http", "opentelemetry_trace", "opentelemetry_resources",
          "opentelemetry_common", "absl_bad_variant_access", "cpp-httplib", "hiredis", "pq"]
COMPILE = ["g++", "-std=c++20", "-O2", "-g", "-Wall", "-Wextra", "-pthread", "-DHAVE_ABSEIL",
           "-DOPENTELEMETRY_ABI_VERSION_NO=1"]
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin",
                        *sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)])

PATIENCE = 600  # timeout of a step, in seconds; a registry can be slow or unreachable


class Missing(Exception):
    """The bank cannot be set up; the message has the reason."""


def program(name):
    found = shutil.which(name, path=PATH)
    if not found:
        raise Missing(f"{name} is not installed; run 'tools/setup bank'")
    return found


def report(what):
    print(f"bank: {what}", file=sys.stderr, flush=True)


def execute(*command, why, **how):
    try:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=PATIENCE, **how)
    except subprocess.TimeoutExpired as e:
        raise Missing(f"{why}: timeout after {PATIENCE} s") from e
    if done.returncode:
        raise Missing(f"{why}:\n{done.stdout.strip()}")


class Step:
    """A part made from files and settings; its mark has their hash, to detect changes."""

    def __init__(self, room, name, files, settings=()):
        parts = [str(room).encode(), repr(settings).encode(), *((HERE / file).read_bytes() for file in files)]
        self.made, self.mark = room / name, room / f"{name}.made"
        self.state = hashlib.sha256(b"\n".join(parts)).hexdigest()

    def needed(self):
        return not self.made.exists() or not self.mark.exists() or self.mark.read_text() != self.state

    def done(self):
        self.mark.write_text(self.state)


def make_python(room):
    step = Step(room, "python", ["requirements.txt"])
    if not step.needed():
        return
    report("installing Flask, gunicorn and OpenTelemetry from PyPI, 20 s")
    shutil.rmtree(room / "python", ignore_errors=True)
    execute(sys.executable, "-m", "venv", room / "python", why="cannot create a virtual environment")
    execute(room / "python/bin/python", "-m", "pip", "install", "--disable-pip-version-check", "--retries", "1",
            "--timeout", "30", "--no-input", "-r", HERE / "requirements.txt", why="cannot install from PyPI")
    step.done()


def make_programs(room):
    step = Step(room, "bin", ["service.h", "service.cc", "ledger.cc", "balance.cc", "../faults.h", "../faults.c"],
                [LIBRARIES, LINKED, COMPILE])
    if not step.needed():
        return
    libraries = room.parent / "otel-cpp"
    report("downloading opentelemetry-cpp from Debian's backports, 10 s")
    execute(HERE.parent.parent / "tools" / "backports", libraries, *LIBRARIES, why="cannot download libraries for C++")
    report("compiling ledger and balance, 20 s")
    (room / "bin").mkdir(exist_ok=True)
    headers = [flag for place in (libraries / "usr/include", "/usr/include") for flag in
               ("-isystem", f"{place}/postgresql")] + ["-isystem", libraries / "usr/include"]
    execute(program("gcc"), "-O2", "-g", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-c", HERE.parent / "faults.c", "-o",
            room / "bin/faults.o", why="cannot compile faults.c")
    for name in ("service", "ledger", "balance"):
        execute(program(COMPILE[0]), *COMPILE[1:], *headers, "-c", HERE / f"{name}.cc", "-o", room / f"bin/{name}.o",
                why=f"cannot compile {name}.cc")
    place = next((libraries / "usr/lib").glob("*-linux-gnu*"))
    for name in ("ledger", "balance"):
        execute(program(COMPILE[0]), "-pthread", "-o", room / f"bin/{name}", room / f"bin/{name}.o",
                room / "bin/service.o", room / "bin/faults.o", f"-L{place}", f"-Wl,--disable-new-dtags,-rpath,{place}",
                *(f"-l{library}" for library in LINKED), why=f"cannot link {name}")
    step.done()


def database_user():
    """Arguments for Popen: PostgreSQL refuses to run as root."""
    if os.geteuid():
        return {}
    for name in ("postgres", "nobody"):
        if name in {entry.pw_name for entry in pwd.getpwall()}:
            return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}
    raise Missing("PostgreSQL refuses to run as root, and there is no user 'postgres'")


def make_data(room):
    step = Step(room, "data", ["data.py"])
    if not step.needed():
        return
    report("creating a database of customers, 5 s")
    user = database_user()
    shutil.rmtree(room / "data", ignore_errors=True)
    (room / "data").mkdir(mode=0o700)
    if user:
        shutil.chown(room / "data", user["user"], user["group"])
    execute(program("initdb"), "-D", room / "data", "-A", "trust", "-U", "bank", "--no-sync", "-E", "UTF8",
            "--locale=C", "--wal-segsize=1", cwd="/", why="cannot create a database", **user)
    # In single-user mode, the server reads statements from its input and opens no socket.
    execute(program("postgres"), "--single", "-j", "-D", room / "data", "-c", "exit_on_error=on", "postgres", cwd="/",
            input=";\n\n".join([*data.statements(), ""]), why="cannot fill the database", **user)
    step.done()


def copy_data(room, directory):
    """Copy the database for one run; another user can have set it up."""
    user, data = database_user(), directory / "data"
    subprocess.run(["cp", "-a", "--reflink=auto", room / "data", data], check=True)
    if user:
        subprocess.run(["chown", "-R", f"{user['user']}:{user['group']}", data], check=True)
    return data


def usable_by(user, directory):
    """Whether the user can enter the directory; a home directory may deny that."""
    return not user or subprocess.run(["test", "-x", directory], **user, cwd="/").returncode == 0


def make(room):
    for name in ("redis-server", "postgres", "initdb", "pg_isready", "setpriv"):
        program(name)
    room.mkdir(parents=True, exist_ok=True)
    if not os.access(room, os.W_OK):
        raise Missing(f"cannot write to '{room}', which another user has set up; remove it")
    if not usable_by(database_user(), room):
        raise Missing(f"PostgreSQL refuses to run as root, and other users cannot enter '{room}'; run the demo as "
                      "the owner of the checkout ('sonde doctor' reports how to record as that user)")
    with open(room / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run can be setting it up
        make_python(room)
        make_programs(room)
        make_data(room)

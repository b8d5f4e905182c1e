#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run services whose requests are known, record them, and hold the recording against the truth.

    bed.py [--all | NAME...]       all scenarios, some of them, or a short list of one of each kind
    bed.py --list                  the names of all
    bed.py --check=requests        right parent, wrong trace, left open (the default)
    bed.py --check=capture         every message that a service knows of was recorded, and pairs
    bed.py --keep=DIR              keep captures and logs, for check_requests.py and check_capture.py

All of them take about six minutes.  SONDE and BED in the environment say where the
programs are.
"""
import argparse
import contextlib
import dataclasses
import glob
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))
BED = pathlib.Path(os.environ.setdefault("BED", "."))
os.environ.setdefault("WORKLOADS", str(BED))
import harness  # noqa: E402  it reads the environment
import check_capture  # noqa: E402
import check_requests  # noqa: E402
import scenarios  # noqa: E402

PATIENCE = 120  # seconds for anything
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin",
                        *sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)])

NGINX = """
daemon off;
worker_processes 1;
pid {dir}/{name}.pid;
error_log {dir}/{name}.error;
events {{ worker_connections 1024; }}
http {{
    log_format bed '$pid $request_uri $remote_addr:$remote_port';
    access_log {dir}/{name}.access bed;
    keepalive_requests 1000000;
    client_body_temp_path {dir};
    proxy_temp_path {dir};
    fastcgi_temp_path {dir};
    uwsgi_temp_path {dir};
    scgi_temp_path {dir};
    upstream behind {{ server {behind}; {keep} }}
    server {{
        listen {address} backlog=1024;
        location / {{ proxy_pass http://behind; {version} }}
    }}
}}
"""


def program(name):
    found = shutil.which(name, path=PATH)
    if not found:
        raise harness.Skip(f"{name} is not installed")
    return found


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(address):
    host, port = address.rsplit(":", 1)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            socket.create_connection((host, int(port))).close()
            return
        time.sleep(0.02)
    raise harness.Failure(f"nobody listens on {address}")


def tree(pid):
    """A process and its descendants."""
    found = [pid]
    for p in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{p}/task"):
                found += map(int, open(f"/proc/{p}/task/{task}/children").read().split())
    return found


def settled(pids):
    """These with all their descendants, once none of them comes or goes."""
    before, now = None, []
    while now != before:
        before, now = now, [p for pid in pids for p in tree(pid)]
        time.sleep(0.05)
    return now


class Running:
    """A service that runs: its process, whom to record, where it is asked, what it is called by callers."""

    def __init__(self, service, process, pid, address, prefix=""):
        self.service, self.process, self.pid, self.address = service, process, pid, address
        self.target = prefix + address

    def stop(self):
        """With what it writes in the end, if it is one of ours."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Room:
    """Where a scenario runs: its directory, and who runs in it."""

    def __init__(self, directory, stack):
        self.directory, self.stack = directory, stack
        self.running = {}

    def start(self, service):
        known = {"nginx": self.nginx, "redis": self.redis, "postgres": self.postgres}
        running = known.get(service.model, self.ours)(service)
        self.running[service.name] = running

    def spawn(self, *command, **how):
        process = subprocess.Popen([str(word) for word in command], **how)
        self.stack.callback(end, process)
        return process

    def ours(self, service):
        options = [*service.options, *(f"--call={self.running[c].target}" for c in service.calls)]
        path = f"unix:{self.directory}/{service.name}.socket"
        options = [f"--listen={path}" if o == "--listen=unix" else o for o in options]
        process = self.spawn(BED / "bed-service", f"--model={service.model}",
                             f"--log={self.directory / service.name}.log", *options,
                             *(() if service.keep_alive else ("--connect-anew",)),
                             stdout=subprocess.PIPE, text=True)
        words = process.stdout.readline().split()
        harness.require(words[:1] == ["ready"], f"{service.name} did not start")
        host = "[::1]" if "--listen=[::1]:0" in options else "127.0.0.1"
        address = f"{host}:{words[2]}" if words[2] != "0" else path
        return Running(service, process, int(words[1]), address)

    def nginx(self, service):
        address = f"127.0.0.1:{free_port()}"
        keep = service.keep_alive
        text = NGINX.format(dir=self.directory, name=service.name, address=address,
                            behind=self.running[service.calls[0]].address,
                            keep="keepalive 128; keepalive_requests 1000000;" if keep else "",
                            version='proxy_http_version 1.1; proxy_set_header Connection "";' if keep else "")
        config = self.directory / f"{service.name}.conf"
        config.write_text(("user root;" if os.geteuid() == 0 else "") + text)
        process = self.spawn(program("nginx"), "-c", config, "-e", self.directory / f"{service.name}.error")
        wait_for(address)
        return Running(service, process, process.pid, address)

    def redis(self, service):
        port = free_port()
        process = self.spawn(program("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "",
                             "--appendonly", "no", "--dir", self.directory, stdout=subprocess.DEVNULL)
        wait_for(f"127.0.0.1:{port}")
        return Running(service, process, process.pid, f"127.0.0.1:{port}", "redis:")

    def postgres(self, service):
        port = free_port()
        data, user = postgres_data()
        process = self.spawn(program("postgres"), "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1",
                             "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200",
                             "-c", "autovacuum=off", stderr=subprocess.DEVNULL, **user)
        asked = [program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "bed", "-d", "postgres"]
        harness.wait_until(lambda: subprocess.run(asked).returncode == 0, "PostgreSQL answers", PATIENCE)
        return Running(service, process, process.pid, f"127.0.0.1:{port}", "pg:")


def end(process):
    if process.poll() is None:
        process.kill()
        process.wait()


made = []  # the data of a PostgreSQL, once it was needed


def postgres_data():
    """A new data directory, and who may run a server on it: it refuses to run as root."""
    user = {}
    if os.geteuid() == 0:
        names = [n for n in ("postgres", "nobody") if n in {p.pw_name for p in pwd.getpwall()}]
        user = {"user": names[0], "group": pwd.getpwnam(names[0]).pw_gid, "extra_groups": []}
    if not made:
        initdb = program("initdb")
        directory = tempfile.mkdtemp(prefix="sonde-bed-")
        made.append(directory)
        if user:
            shutil.chown(directory, user["user"], user["group"])
        harness.run(initdb, "-D", f"{directory}/data", "-A", "trust", "-U", "bed", "--no-sync", "-E", "UTF8",
                    "--locale=C", cwd=directory, **user)
    return f"{made[0]}/data", user


def forget_postgres():
    while made:
        shutil.rmtree(made.pop(), ignore_errors=True)


def start_client(room, scenario):
    target = room.running[scenario.services[-1].name].address
    options = (*scenario.client, *(() if scenario.keep_alive else ("--connect-anew",)))
    process = room.spawn(BED / "bed-client", f"--to={target}", f"--log={room.directory / 'client.log'}",
                         f"--connections={scenario.connections}", f"--count={scenario.count}", *options,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    harness.equal(process.stdout.readline(), "ready\n", "words of the client")
    return process


def tell(room, scenario):
    """What the checkers need to know."""
    services = [dataclasses.asdict(r.service) | {"pid": r.pid, "address": r.address}
                for r in room.running.values()]
    text = json.dumps({"name": scenario.name, "services": services}, indent=1)
    (room.directory / "scenario.json").write_text(text)


def run(scenario, directory):
    """Into the directory: a capture, the logs, and which service is which."""
    for name in scenario.needs():
        program(name)
    with contextlib.ExitStack() as stack:
        room = Room(directory, stack)
        for service in scenario.services:
            room.start(service)
        client = start_client(room, scenario)
        pids = settled([r.pid for r in room.running.values()])
        with harness.Recorder("-p", ",".join(map(str, pids)), path=directory / "capture.sonde") as recorder:
            client.communicate("go\n", timeout=2 * PATIENCE)
            harness.equal(client.returncode, 0, "exit code of the client")
            recorder.end()
        for running in reversed(room.running.values()):  # PostgreSQL waits until nobody is connected
            running.stop()
        tell(room, scenario)


CHECKS = {"capture": check_capture, "requests": check_requests}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all scenarios")
    parser.add_argument("--list", action="store_true", help="print their names")
    parser.add_argument("--check", choices=CHECKS, default="requests")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR")
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def main():
    args = parse()
    every = scenarios.every()
    if args.list:
        print(*every, sep="\n")
        return 0
    unknown = [n for n in args.names if n not in every]
    if unknown:
        print(f"there is no scenario '{unknown[0]}'")
        return 2
    names = every if args.all else args.names or CHECKS[args.check].FEW
    top = args.keep or pathlib.Path(tempfile.mkdtemp(prefix="sonde-bed-"))
    try:
        harness.need_recording()
        return go(names, every, CHECKS[args.check].Table(), top)
    except harness.Skip as skip:
        print(f"skipped: {skip}")
        return 77
    finally:
        forget_postgres()
        if not args.keep:
            shutil.rmtree(top, ignore_errors=True)


def go(names, every, table, top):
    """One scenario after the other; a failure of one does not keep the next from running."""
    failed, left_out = False, []
    for name in names:
        directory = top / name
        directory.mkdir(parents=True)
        try:
            run(every[name], directory)
            table.add(directory)
        except harness.Skip as skip:
            left_out.append(f"{name}: {skip}")
        except (harness.Failure, subprocess.TimeoutExpired) as failure:
            print(f"{name}: failed: {failure}", flush=True)
            failed = True
    if table.end() or failed:
        return 1
    if left_out:
        print(f"{len(left_out)} of {len(names)} scenarios are left out, such as {left_out[0]}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())

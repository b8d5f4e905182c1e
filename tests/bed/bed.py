#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run services that log their requests, record them, and compare the recording with the logs.

    bed.py [--all | NAME...]       all scenarios, some of them, or one of each kind (the default)
    bed.py --list                  print the names of all scenarios
    bed.py --check=requests        check the parents of rebuilt requests (the default)
    bed.py --check=capture         check that every logged message was recorded, and paired
    bed.py --keep=DIR              keep captures and logs, for check_requests.py and check_capture.py

All scenarios take about six minutes.  The environment variables SONDE and BED are the paths of
the programs.
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
import harness  # noqa: E402  (it reads the environment)
import check_capture  # noqa: E402
import check_requests  # noqa: E402
import scenarios  # noqa: E402

TIMEOUT = 120  # seconds, for any step
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
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            socket.create_connection((host, int(port))).close()
            return
        time.sleep(0.02)
    raise harness.Failure(f"no process listens on {address}")


def tree(pid):
    """A process and its descendants."""
    found = [pid]
    for p in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{p}/task"):
                found += map(int, open(f"/proc/{p}/task/{task}/children").read().split())
    return found


def with_descendants(pids):
    """The processes and all their descendants, once no process is created or exits any more."""
    before, now = None, []
    while now != before:
        before, now = now, [p for pid in pids for p in tree(pid)]
        time.sleep(0.05)
    return now


class Running:
    """A running service: its process, the pid to record, its address, and its address as a target of calls."""

    def __init__(self, service, process, pid, address, prefix=""):
        self.service, self.process, self.pid, self.address = service, process, pid, address
        self.target = prefix + address

    def stop(self):
        """End it with SIGTERM, on which bed-service writes its log."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Deployment:
    """The services of a scenario, and their directory."""

    def __init__(self, directory, stack):
        self.directory, self.stack = directory, stack
        self.running = {}

    def start(self, service):
        known = {"nginx": self.nginx, "redis": self.redis, "postgres": self.postgres}
        running = known.get(service.model, self.bed_service)(service)
        self.running[service.name] = running

    def spawn(self, *command, **how):
        process = subprocess.Popen([str(word) for word in command], **how)
        self.stack.callback(end, process)
        return process

    def bed_service(self, service):
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
        is_ready = [program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "bed", "-d", "postgres"]
        harness.wait_until(lambda: subprocess.run(is_ready).returncode == 0, "PostgreSQL is ready", TIMEOUT)
        return Running(service, process, process.pid, f"127.0.0.1:{port}", "pg:")


def end(process):
    if process.poll() is None:
        process.kill()
        process.wait()


made = []  # the data directory of PostgreSQL, once created


def postgres_data():
    """A new data directory, and the user to run PostgreSQL as: it refuses to run as root."""
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


def remove_postgres_data():
    while made:
        shutil.rmtree(made.pop(), ignore_errors=True)


def start_client(deployment, scenario):
    target = deployment.running[scenario.services[-1].name].address
    options = (*scenario.client, *(() if scenario.keep_alive else ("--connect-anew",)))
    process = deployment.spawn(BED / "bed-client", f"--to={target}", f"--log={deployment.directory / 'client.log'}",
                         f"--connections={scenario.connections}", f"--count={scenario.count}", *options,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    harness.equal(process.stdout.readline(), "ready\n", "first line of the client")
    return process


def write_scenario(deployment, scenario):
    """Write the description that the checkers read."""
    services = [dataclasses.asdict(r.service) | {"pid": r.pid, "address": r.address}
                for r in deployment.running.values()]
    text = json.dumps({"name": scenario.name, "services": services}, indent=1)
    (deployment.directory / "scenario.json").write_text(text)


def run(scenario, directory):
    """Write a capture, the logs and a description of the services to the directory."""
    for name in scenario.needs():
        program(name)
    with contextlib.ExitStack() as stack:
        deployment = Deployment(directory, stack)
        for service in scenario.services:
            deployment.start(service)
        client = start_client(deployment, scenario)
        pids = with_descendants([r.pid for r in deployment.running.values()])
        with harness.Recorder("-p", ",".join(map(str, pids)), path=directory / "capture.sonde") as recorder:
            client.communicate("go\n", timeout=2 * TIMEOUT)
            harness.equal(client.returncode, 0, "exit code of the client")
            recorder.end()
        for running in reversed(deployment.running.values()):  # PostgreSQL waits until all clients have disconnected
            running.stop()
        write_scenario(deployment, scenario)


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
        print(f"there is no scenario '{unknown[0]}'; list them with --list")
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
        remove_postgres_data()
        if not args.keep:
            shutil.rmtree(top, ignore_errors=True)


def go(names, every, table, top):
    """Run the scenarios one after the other; if one fails, the next still runs."""
    failed, skipped = False, []
    for name in names:
        directory = top / name
        directory.mkdir(parents=True)
        try:
            run(every[name], directory)
            table.add(directory)
        except harness.Skip as skip:
            skipped.append(f"{name}: {skip}")
        except (harness.Failure, subprocess.TimeoutExpired) as failure:
            print(f"{name}: failed: {failure}", flush=True)
            failed = True
    if table.end() or failed:
        return 1
    if skipped:
        print(f"skipped {len(skipped)} of {len(names)} scenarios, such as {skipped[0]}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())

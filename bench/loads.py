# SPDX-License-Identifier: Apache-2.0
"""Services under load, and the cost of a request.

The service runs on the first CPU and the client on the second (on a host with one CPU they share
it); a recorder runs on any CPU.
"""
import collections
import contextlib
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time

import machine

Load = collections.namedtuple("Load", "requests seconds server_cpu recorder_cpu programs")

SERVER_CPU = "0"
CLIENT_CPU = str(min(1, os.cpu_count() - 1))

NGINX = """
daemon off;
user root;
worker_processes 1;
pid {dir}/nginx.pid;
error_log {dir}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    client_body_temp_path {dir};
    proxy_temp_path {dir};
    fastcgi_temp_path {dir};
    uwsgi_temp_path {dir};
    scgi_temp_path {dir};
    server {{
        listen 127.0.0.1:{port};
        root {dir};
    }}
}}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Service:
    """A kind of server; needs: the programs that it requires."""

    def __init__(self, name, needs, command, client):
        self.name, self.needs, self.command, self.client = name, needs, command, client

    def missing(self):
        absent = [n for n in self.needs if not machine.available(n)]
        return f"{', '.join(absent)} not installed" if absent else None

    @contextlib.contextmanager
    def running(self):
        """Start it; yields a Server."""
        with tempfile.TemporaryDirectory(prefix="sonde-bench-") as directory:
            port = free_port()
            command = self.command(pathlib.Path(directory), port)
            process = subprocess.Popen(["taskset", "-c", SERVER_CPU, *map(str, command)],
                                       stdout=subprocess.DEVNULL, cwd=directory)
            try:
                wait_for(port)
                yield Server(process.pid, port, self.client)
            finally:
                machine.stop(process)


class Server:
    def __init__(self, pid, port, client):
        self.port, self.client = port, client
        self.pids = machine.tree(pid)

    def load(self, seconds, run):
        """Run the load while `run` records the server. Returns a Load."""
        server, recorder, programs = self.cpu_time(), run.cpu_time(), run.programs()
        requests, took = self.client(self.port, seconds)
        programs = {name: (runs - programs[name][0], ns - programs[name][1])
                    for name, (runs, ns) in run.programs().items()}
        return Load(requests, took, self.cpu_time() - server, run.cpu_time() - recorder, programs)

    def cpu_time(self):
        return sum(map(machine.cpu_time, self.pids))


def wait_for(port, patience=10):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.02)
    raise RuntimeError(f"no process listens on port {port}")


def run_client(*command):
    return subprocess.run(["taskset", "-c", CLIENT_CPU, *map(str, command)], check=True,
                          capture_output=True, text=True).stdout


def wrk(port, seconds):
    text = run_client("wrk", "-t1", "-c8", f"-d{max(1, round(seconds))}s",
                      f"http://127.0.0.1:{port}/index.html")
    requests, took = re.search(r"(\d+) requests in ([\d.]+)s", text).groups()
    return int(requests), float(took)


redis_rates = {}


def redis_benchmark(port, seconds):
    """redis-benchmark takes a number of requests; a first run determines the number for this time."""
    if port not in redis_rates:
        redis_rates[port] = ask_redis(port, 20000)
    count = int(redis_rates[port] * seconds)
    return count, count / ask_redis(port, count)


def ask_redis(port, count):
    text = run_client("redis-benchmark", "-p", port, "-c", 8, "-n", count, "-t", "get", "--csv")
    return float(re.search(r'"GET","([\d.]+)"', text).group(1))


def nginx_command(directory, port):
    (directory / "nginx.conf").write_text(NGINX.format(dir=directory, port=port))
    (directory / "index.html").write_text("x" * 512)
    return ["nginx", "-e", directory / "error.log", "-c", directory / "nginx.conf"]


def redis_command(directory, port):
    return ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly",
            "no", "--dir", directory]


def services(build, work_us=300):
    """The services of the benchmarks; the last one computes for work_us on each request."""
    def work_command(directory, port):
        return [build / "bench/bench-service", port, work_us]

    return [
        Service("nginx", ["nginx", "wrk"], nginx_command, wrk),
        Service("redis", ["redis-server", "redis-benchmark"], redis_command, redis_benchmark),
        Service(f"{work_us} µs of work", ["wrk"], work_command, wrk),
    ]

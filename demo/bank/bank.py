# SPDX-License-Identifier: Apache-2.0
"""A running bank: start all its services, inject faults, stop it.

    with bank.Bank(build) as b:         # everything in b.directory, on free ports of loopback
        b.switch("lock", True)
        ...                             # customers connect to b.ports["frontend"]

`sonde run` starts each service, so that its spans can be recorded.  If this process dies, the
kernel sends each service a signal (PR_SET_PDEATHSIG).
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import setup

HERE = pathlib.Path(__file__).resolve().parent
FAULTS = {
    "slow-query": "contacts runs a query that cannot use an index",
    "lock": "the auditor of ledger holds a lock while it queries PostgreSQL",
    "hog": "busy processes run on the CPU of ledger and balance",
    "flush": "contacts flushes to disk in each request",
    "pool": "users and contacts have one connection to PostgreSQL each, instead of eight",
    "delay": "the network delay between frontend and balance is 30 ms in each direction",
}
DELAY = 0.030  # seconds
THREADS = 8
PROCESSES = {"frontend": 2, "users": 1, "contacts": 1}
PORTS = [*PROCESSES, "ledger", "balance", "redis", "database", "relay"]
PATIENCE = 120  # timeout of each step, in seconds
DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Failed(Exception):
    """A service did not start; the message has the reason."""


def free_ports(names):
    """All sockets are open at once, so that the ports differ."""
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in names}
    ports = {name: s.getsockname()[1] for name, s in sockets.items()}
    for s in sockets.values():
        s.close()
    return ports


def answers(url):
    try:
        with DIRECTLY.open(url, timeout=PATIENCE):
            return True
    except urllib.error.HTTPError:
        return False
    except OSError:
        return False


def is_database(port):
    """Whether PostgreSQL accepts queries; it listens earlier."""
    asked = [setup.program("pg_isready"), "-h", "127.0.0.1", "-p", str(port), "-U", "bank", "-d", "postgres"]
    return subprocess.run(asked, stdout=subprocess.DEVNULL).returncode == 0


def connects(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


class Bank:
    """A bank in a temporary directory.

    workers     worker class of gunicorn, gthread or sync; or a dictionary of those of each service
    wrap        prefix of each service's command
    cpus        CPU of each service that runs on one; the last CPU for ledger and balance if it is None
    env         more variables: BANK_LISTEN is the address that services listen on, and BANK_FRONTEND_CALLS and
                BANK_BALANCE_CALLS those at which they call others; 127.0.0.1 without them
    ports       port of each of PORTS; free ones if it is None
    processes   number of processes of each Python service
    """

    def __init__(self, build, workers="gthread", wrap=(), env=None, cpus=None, ports=None, processes=None):
        self.room = pathlib.Path(build).resolve() / "bank"
        self.workers = workers if isinstance(workers, dict) else dict.fromkeys(PROCESSES, workers)
        self.wrap = [str(word) for word in wrap]
        last = max(os.sched_getaffinity(0))
        self.cpus = {"ledger": last, "balance": last} if cpus is None else cpus
        self.processes, self.directory, self.extra_env = {}, None, env or {}
        self.ports, self.counts = ports or {}, PROCESSES | (processes or {})

    def __enter__(self):
        setup.make(self.room)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=self.room))
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def switch(self, fault, on):
        if fault not in FAULTS:
            raise ValueError(f"unknown fault '{fault}'")
        self.inject(fault, "" if on else None)

    def inject(self, fault, strength):
        """Write the file of a fault, such as sleep@users (faults.py), or remove it if strength is None."""
        if strength is None:
            (self.faults / fault).unlink(missing_ok=True)
        else:
            (self.faults / f".{fault}").write_text(str(strength))
            (self.faults / f".{fault}").rename(self.faults / fault)  # readers find all of it or nothing

    @property
    def faults(self):
        return self.directory / "faults"

    @property
    def logs(self):
        return self.directory / "logs"

    def pids(self):
        """The processes of all services and their descendants."""
        return [pid for process in self.processes.values() for pid in tree(process.pid)]

    def start(self):
        self.directory.chmod(0o755)
        self.faults.mkdir()
        self.logs.mkdir()
        self.ports = self.ports or free_ports(PORTS)
        self.start_stores()
        self.start_services()
        self.await_all()

    def start_stores(self):
        self.spawn("redis", setup.program("redis-server"), "--port", self.ports["redis"], "--bind", "127.0.0.1",
                   "--save", "", "--appendonly", "no", "--dir", self.directory)
        data = setup.copy_data(self.room, self.directory)
        self.spawn("postgres", setup.program("postgres"), "-D", data, "-p", self.ports["database"],
                   "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
                   "-c", "autovacuum=off", "-c", "jit=off", "-c", "max_parallel_workers_per_gather=0",
                   cwd="/", **setup.database_user())
        self.wait("postgres", lambda: is_database(self.ports["database"]))

    def start_services(self):
        for name in ("ledger", "balance"):
            self.spawn(name, *self.pinned(name), *self.wrap, self.room / "bin" / name)
        for name in PROCESSES:
            self.start_python(name)
        python = self.room / "python/bin/python"
        self.spawn("relay", python, HERE / "relay.py", self.ports["relay"], self.ports["balance"], DELAY)
        self.spawn("hog", *self.pinned("ledger"), python, HERE / "hog.py", self.faults / "hog")

    def pinned(self, name):
        """The prefix of a command that runs it on the CPU of a service, if the service has one."""
        return ["taskset", "-c", self.cpus[name]] if name in self.cpus else []

    def start_python(self, name):
        workers, address = self.workers[name], self.extra_env.get("BANK_LISTEN", "127.0.0.1")
        self.spawn(name, *self.pinned(name), *self.wrap, self.room / "python/bin/gunicorn", f"{name}:app", "--chdir", HERE,
                   "--bind", f"{address}:{self.ports[name]}", "--workers", self.counts[name], "--worker-class", workers,
                   *(["--threads", THREADS] if workers == "gthread" else []), "--log-level", "warning")

    def restart(self, name, workers):
        """Restart one Python service with another worker class."""
        end({name: self.processes.pop(name)})
        self.workers[name] = workers
        self.start_python(name)
        self.wait(name, lambda: answers(f"http://127.0.0.1:{self.ports[name]}/health"))

    def await_all(self):
        for name in (*PROCESSES, "ledger", "balance"):
            self.wait(name, lambda: answers(f"http://127.0.0.1:{self.ports[name]}/health"))
        self.wait("redis", lambda: connects(self.ports["redis"]))
        self.wait("relay", lambda: connects(self.ports["relay"]))

    def environment(self):
        ports = {f"BANK_{name.upper()}_PORT": str(port) for name, port in self.ports.items()}
        dsn = f"host=127.0.0.1 port={self.ports['database']} user=bank dbname=postgres"
        return os.environ | ports | {"BANK_FAULTS": str(self.faults), "BANK_DIRECTORY": str(self.directory),
                                     "BANK_DATABASE": dsn, "PYTHONDONTWRITEBYTECODE": "1",
                                     "no_proxy": "*"} | self.extra_env

    def spawn(self, name, *command, **how):
        """Start a service, with its output in a log."""
        with open(self.logs / f"{name}.log", "wb") as log:
            self.processes[name] = self.popen(*command, dies_by=stop_signal(name), stdout=log, stderr=log, **how)

    def popen(self, *command, dies_by=signal.SIGTERM, **how):
        """Start a process in its own group, so that Ctrl-C only reaches us, and let it die with us."""
        command = ["setpriv", "--pdeathsig", dies_by.name.removeprefix("SIG"), *(str(word) for word in command)]
        return subprocess.Popen(command, env=self.environment(), stdin=subprocess.DEVNULL, process_group=0, **how)

    def wait(self, name, ready):
        end = time.monotonic() + PATIENCE
        while not ready():
            if self.processes[name].poll() is not None or time.monotonic() > end:
                log = (self.logs / f"{name}.log").read_text(errors="replace")
                raise Failed(f"{name} did not start:\n{log.strip()}")
            time.sleep(0.02)

    def stop(self):
        """Stop the services before the stores that they use, and keep the logs."""
        stores = {name: self.processes.pop(name) for name in ("postgres", "redis") if name in self.processes}
        end(self.processes)
        end(stores)
        shutil.rmtree(self.room / "logs", ignore_errors=True)
        shutil.copytree(self.logs, self.room / "logs", dirs_exist_ok=True)
        shutil.rmtree(self.directory)


def stop_signal(name):
    return signal.SIGINT if name == "postgres" else signal.SIGTERM  # on SIGTERM, it waits for its clients


def end(processes):
    for name, process in processes.items():
        process.send_signal(stop_signal(name))
    until = time.monotonic() + 5
    for process in processes.values():
        try:
            process.wait(max(0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)  # the process, or its remaining children
        except ProcessLookupError:
            pass
        process.wait()


def tree(pid):
    """A process and its descendants."""
    found = [pid]
    for p in found:
        try:
            for task in os.listdir(f"/proc/{p}/task"):
                found += map(int, pathlib.Path(f"/proc/{p}/task/{task}/children").read_text().split())
        except OSError:
            pass  # the process has exited
    return found

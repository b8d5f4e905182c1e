# SPDX-License-Identifier: Apache-2.0
"""The applications of the lab: how to start one, drive requests, record it, and inject a fault.

    bank         demo/bank with threads in gunicorn (gthread)
    bank-sync    the same with sync workers, and fewer customers
    demo         demo/*.c with spans (DEMO_SPANS)
    factorial    one service whose time depends on an argument

A target of a fault is SERVICE, or SERVICE:OPERATION.
"""
import contextlib
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent
sys.path[:0] = [str(TOP / "demo" / "bank"), str(TOP / "tests" / "faults" / "support")]
import bank  # noqa: E402
import limits  # noqa: E402
import network  # noqa: E402
import services  # noqa: E402

CPUS = sorted(os.sched_getaffinity(0))
FIRST_PORT = 20_000  # of all applications, which run one after another in a network namespace of their own
CALLERS = {"frontend": 1, "front": 1, "balance": 2}  # host in network.NETWORK at which a service calls others
SETTLE = 0.4  # seconds between a change and the load
LIFE = 3 * 3600  # seconds after which a service of the demo ends
PROCESSES = {"frontend": 4, "users": 2, "contacts": 2}  # sync workers, enough that few requests wait for one
LINES = 4  # lines of a journal per request of the bank
MARGIN = 60  # seconds that a load may take longer than planned
TRIES = 8  # of a recording, if another recorder reads the spans
OTHERS = 3  # seconds to wait for another recorder
PAUSE_US = 150_000  # average pause of a client of the demo: faults add CPU time, but do not fill the CPUs
IMPORT = 16  # contacts in an import of the demo; more would take longer than all else


def fixed_ports(names):
    """The same ports at each start: operations without spans are named after them."""
    return {name: FIRST_PORT + number for number, name in enumerate(names)}


def host(caller):
    return f"{network.NETWORK}.{CALLERS[caller]}"


def cable(faults, links):
    """The command that runs the network."""
    return [sys.executable, HERE / "network.py", network.DEVICE, faults, *links]


class Application:
    """An application that runs while it is entered."""

    def __init__(self, name, build):
        self.name, self.build = name, pathlib.Path(build).resolve()
        self.sonde = self.build / "sonde"
        self.shares = {}  # CPU time per second of each service without a fault

    @property
    def wrap(self):
        return [self.sonde, "run", "--"]

    def record(self, capture, seed, seconds=None):
        """Record all services while requests are driven."""
        seconds = seconds or self.seconds
        pids = ",".join(map(str, self.all_pids()))
        command = [self.sonde, "record", "-q", "-o", capture, "-p", pids, "--", *self.load(seed, seconds)]
        for _ in range(TRIES):
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=seconds + MARGIN)
            if done.returncode:
                raise services.Failed(f"'sonde record' exits with {done.returncode}: {done.stderr.strip()[-500:]}")
            if "another recorder" not in done.stderr:
                return
            time.sleep(OTHERS)
        raise services.Failed("another recorder reads the spans")

    def measure(self, capture, seed):
        """Record without a fault, and keep the CPU time that each service uses."""
        before = {name: limits.cpu_time(self.pids(name)) for name in self.services}
        began = time.monotonic()
        self.record(capture, seed)
        for name in self.services:
            used = (limits.cpu_time(self.pids(name)) - before[name]) / (time.monotonic() - began)
            self.shares[name] = max(used, self.shares.get(name, 0))

    @contextlib.contextmanager
    def injected(self, fault, target, strength):
        """Inject a fault of demo/faults.h or demo/bank/faults.py."""
        self.inject(f"{fault}@{target}", strength)
        try:
            time.sleep(SETTLE)
            yield
        finally:
            self.inject(f"{fault}@{target}", None)

    def throttled(self, target, strength):
        return limits.cpu_quota(self.pids(target), strength * self.shares[target])

    def hogged(self, target, count):
        return limits.hogs(self.build / "demo" / "hog", self.cpus[target], count)

    def slow_disk(self, target, strength):
        return limits.write_rate(self.pids(target), self.directory, strength * self.disk_rate)


class BankApplication(Application):
    services = ("frontend", "users", "contacts", "ledger", "balance")
    disk_rate = 2 << 20  # bytes/s: 8 ms for the journal of a request

    def __init__(self, name, build):
        super().__init__(name, build)
        self.is_sync = name.endswith("-sync")
        self.seconds, self.rate = (7, 6) if self.is_sync else (5, 10)
        alone = "users" if self.is_sync else "contacts"
        self.cpus = {alone: CPUS[0], "ledger": CPUS[-1], "balance": CPUS[-1]}
        self.bank = None

    def __enter__(self):
        workers = "sync" if self.is_sync else "gthread"
        ports = fixed_ports(bank.PORTS)
        env = {"BANK_LISTEN": "0.0.0.0", "BANK_FRONTEND_CALLS": host("frontend"),
               "BANK_BALANCE_CALLS": host("balance")}
        links = [f"{name}={host('frontend')}:{ports[name]}" for name in ("users", "contacts", "ledger", "balance")]
        links.append(f"balance_ledger={host('balance')}:{ports['ledger']}")
        self.bank = bank.Bank(self.build, workers, self.wrap, env, self.cpus, ports, PROCESSES if self.is_sync else None)
        self.bank.__enter__()
        self.bank.spawn("network", *cable(self.bank.faults, links))
        for service in ("users", "contacts", "ledger"):
            self.bank.inject(f"journal@{service}", LINES)
        return self

    def __exit__(self, *_):
        self.bank.__exit__()

    @property
    def directory(self):
        return self.bank.directory

    def pids(self, service):
        return bank.tree(self.bank.processes[service].pid)

    def all_pids(self):
        """The services and their databases."""
        return [pid for name in (*self.services, "postgres", "redis") for pid in self.pids(name)]

    def load(self, seed, seconds):
        return [sys.executable, TOP / "demo/bank/load.py", "--json", "--seconds", seconds, "--rate", self.rate, "--seed",
                seed, self.bank.ports["frontend"]]

    def inject(self, name, strength):
        self.bank.inject(name, strength)

    @contextlib.contextmanager
    def switched(self, fault):
        """A fault of demo/bank/run."""
        self.bank.switch(fault, True)
        try:
            time.sleep(SETTLE)
            yield
        finally:
            self.bank.switch(fault, False)

    @contextlib.contextmanager
    def other_workers(self, service):
        before = self.bank.workers[service]
        self.bank.restart(service, "gthread" if before == "sync" else "sync")
        try:
            self.warm_up()
            yield
        finally:
            self.bank.restart(service, before)
            self.warm_up()

    def warm_up(self, seconds=1.5):
        """Requests that are not recorded: new processes open connections and import modules."""
        subprocess.run(list(map(str, self.load(0, seconds))), stdout=subprocess.DEVNULL, timeout=seconds + MARGIN)


class Plain(Application):
    """Services in C that listen on free ports, in the directory of a services.Lab."""

    def __init__(self, name, build):
        super().__init__(name, build)
        self.lab, self.processes = None, {}
        self.ports = fixed_ports(self.services)

    def __enter__(self):
        self.lab = services.Lab(self.build / "lab")
        self.lab.__enter__()
        try:
            (self.directory / "faults").mkdir()
            self.start()
        except BaseException:
            self.lab.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.lab.__exit__()

    @property
    def directory(self):
        return self.lab.directory

    def pids(self, service):
        return bank.tree(self.processes[service].pid)

    def all_pids(self):
        return [pid for name in self.services for pid in self.pids(name)]

    def inject(self, name, strength):
        file = self.directory / "faults" / name
        if strength is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(str(strength))

    def spawn(self, name, *command):
        env = {"DEMO_FAULTS": str(self.directory / "faults"), "DEMO_LIFE": str(LIFE), "OTEL_SERVICE_NAME": name,
               "DEMO_PORT": str(self.ports.get(name, 0)), "DEMO_LISTEN": "0.0.0.0", "DEMO_CALLS": host("front")}
        pinned = ["taskset", "-c", self.cpus[name]] if name in self.cpus else []
        self.processes[name] = self.lab.spawn(name, *pinned, *command, cwd=self.directory, env=env)

    def serve(self, name, *arguments):
        """Start a service of build/lab, and return its port."""
        file = self.directory / f"{name}.port"
        self.spawn(name, *self.wrap, self.build / "lab" / name, file, *arguments)
        self.lab.wait(self.processes[name], name, file.exists)
        return self.ports[name]

    def warm_up(self, seconds=1.5):
        subprocess.run(list(map(str, self.load(0, seconds))), stdout=subprocess.DEVNULL, timeout=seconds + MARGIN)


class Demo(Plain):
    """client, front, ledger and contacts."""

    services = ("front", "contacts", "ledger")
    seconds = 5
    disk_rate = 8 << 20  # bytes/s: 32 ms for an import

    def __init__(self, name, build):
        super().__init__(name, build)
        self.cpus = {"contacts": CPUS[0], "ledger": CPUS[-1]}
        self.port = 0

    def start(self):
        behind = {name: self.serve(name) for name in ("contacts", "ledger")}
        links = [f"{name}={host('front')}:{port}" for name, port in behind.items()]
        self.spawn("network", *cable(self.directory / "faults", links))
        self.port = self.serve("front", *behind.values())

    def load(self, seed, seconds):
        return ["env", f"DEMO_IMPORT={IMPORT}", f"DEMO_PAUSE_US={PAUSE_US}", self.build / "demo" / "client", self.port,
                seconds]


class Factorial(Plain):
    """One service; the load requests one number again and again, or the usual mixture."""

    services = ("factorial",)
    seconds = 4
    cpus = {}

    def start(self):
        self.port, self.numbers = self.serve("factorial"), "mixed"

    def load(self, seed, seconds):
        return [self.build / "lab" / "caller", self.port, seconds, self.numbers, seed]

    @contextlib.contextmanager
    def requesting(self, numbers):
        """Request only `small` or only `large` numbers."""
        self.numbers = numbers
        try:
            yield
        finally:
            self.numbers = "mixed"


KINDS = {"bank": BankApplication, "bank-sync": BankApplication, "demo": Demo, "factorial": Factorial}


def create(name, build):
    return KINDS[name](name, build)

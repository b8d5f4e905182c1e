# SPDX-License-Identifier: Apache-2.0
"""What a fault runs: services, databases, control groups, the client.

    with services.Lab(build) as lab:
        port = lab.service("shop", lab.compile("shop.c"), lab.port("shop"))
        latencies = lab.load(port, "/cart", connections=4)

Everything that a Lab starts runs below one temporary directory, which other users can read, and on free ports of loopback, and ends
with it, in reverse order.  Each service dies with the lab (PR_SET_PDEATHSIG).
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parent / "services"
PYTHON = "/usr/bin/python3"  # Debian's, with the modules of Debian's packages
PATIENCE = 60  # seconds for a service to start
CGROUPS = pathlib.Path("/sys/fs/cgroup")


class Skip(Exception):
    """The fault cannot run here; the message has the reason."""


class Failed(Exception):
    """A service or the client failed."""


class Lab:
    """build: a directory for programs and packages that outlive the run; seconds: the time of the client."""

    def __init__(self, build, seconds=6):
        self.build, self.seconds = pathlib.Path(build).resolve(), seconds
        self.cleanup = contextlib.ExitStack()
        self.pids = []  # of the services to record
        self.ports = {}
        self.directory = None

    def __enter__(self):
        self.build.mkdir(parents=True, exist_ok=True)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sonde-faults-", dir="/var/tmp"))
        self.directory.chmod(0o755)
        self.cleanup.callback(shutil.rmtree, self.directory, ignore_errors=True)
        return self

    def __exit__(self, *_):
        self.cleanup.close()

    # Programs

    def compile(self, source, *flags):
        """The path of a C or C++ program of services/, compiled as services are: optimised, with symbols."""
        path = SOURCES / source
        path = path if path.exists() else HERE / source
        program = self.build / path.stem
        newest = max(file.stat().st_mtime for file in (path, *SOURCES.glob("*.h")))
        if not program.exists() or program.stat().st_mtime < newest:
            compiler = "c++" if path.suffix in (".cc", ".cpp") else "cc"
            run(compiler, "-O2", "-g", "-Wall", "-D_GNU_SOURCE", "-o", program, path, *flags, "-pthread", "-lm")
        return program

    def python(self, script):
        """The words of a command that runs a Python service of services/."""
        return [PYTHON, SOURCES / script]

    def port(self, name="service"):
        """A free port; each name has one."""
        if name not in self.ports:
            with socket.create_server(("127.0.0.1", 0)) as s:
                self.ports[name] = s.getsockname()[1]
        return self.ports[name]

    def spawn(self, name, *command, dies_by="TERM", **how):
        """Start a process that is not recorded, such as one that competes for a CPU."""
        command = [str(word) for part in command for word in (part if isinstance(part, list) else [part])]
        command = ["setpriv", "--pdeathsig", dies_by, *command]
        env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "no_proxy": "*"} | how.pop("env", {})
        log = self.log(name)
        with open(log, "ab") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env,
                                       process_group=0, **how)
        self.cleanup.callback(end, process, getattr(signal, f"SIG{dies_by}"))
        return process

    def service(self, name, *command, port=None, **how):
        """Start a service to record, and wait until it listens; returns the port."""
        process = self.spawn(name, *command, **how)
        self.pids.append(process.pid)
        self.wait(process, name, lambda: port is None or connects(port))
        return port

    def log(self, name):
        return self.directory / f"{name}.log"

    def wait(self, process, name, ready):
        until = time.monotonic() + PATIENCE
        while not ready():
            if process.poll() is not None or time.monotonic() > until:
                raise Failed(f"{name} did not start:\n{self.log(name).read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    # Databases

    def postgres(self, *settings, schema=""):
        """Start PostgreSQL with an empty database, and run the SQL of `schema`; returns the port."""
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        if not programs:
            raise Skip("there is no PostgreSQL")
        data, port = self.directory / "postgres", self.port("postgres")
        data.mkdir()
        shutil.chown(data, "postgres")
        user = {"user": "postgres", "cwd": "/"}
        run(programs[-1] / "initdb", "-D", data, "-A", "trust", "--no-sync", "-U", "postgres", **user)
        options = [word for setting in ("listen_addresses=127.0.0.1", "unix_socket_directories=", *settings)
                   for word in ("-c", setting)]
        process = self.spawn("postgres", programs[-1] / "postgres", "-D", data, "-p", port, *options,
                             dies_by="INT", **user)
        self.pids.append(process.pid)
        self.wait(process, "postgres", lambda: self.sql("SELECT 1", check=False))
        if schema:
            self.sql(schema)
        return port

    def sql(self, text, check=True):
        """Run SQL in PostgreSQL; whether it succeeded."""
        psql = ["psql", "-h", "127.0.0.1", "-p", self.ports["postgres"], "-U", "postgres", "-q", "-v", "ON_ERROR_STOP=1"]
        done = run(*psql, "-c", text, check=check)
        return done.returncode == 0

    def redis(self, *options):
        """Start redis; returns the port."""
        port = self.port("redis")
        return self.service("redis", "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                            "--appendonly", "no", "--dir", self.directory, *options, port=port)

    # Limits

    def limited(self, controller, **files):
        """The words before a command that run it in a control group with these settings."""
        group = self.cgroup(controller, **files)
        return ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh"]

    def cgroup(self, controller, **files):
        """Make a control group with these settings; returns its path.  Supports versions 1 and 2.

        `cpu_max="20000 100000"`, `memory_max=BYTES` and `io_max="MAJOR:MINOR rbps=BYTES"` are the files of
        version 2, converted for version 1.
        """
        group = next((top / f"sonde-faults-{os.getpid()}" for top in cgroup_tops(controller)), None)
        if group is None:
            raise Skip(f"there is no controller '{controller}' of control groups")
        group.mkdir(exist_ok=True)
        self.cleanup.callback(remove_cgroup, group)
        for name, value in files.items():
            for file, text in cgroup_files(group, name, str(value)):
                (group / file).write_text(text)
        return group

    # The client

    def load(self, port, *requests, connections=4, pause=20, seconds=None, connect=False, reply=None):
        """Drive HTTP requests (paths, or whole requests), and return (send time, latency) in ns of each.

        pause: mean pause of a connection in ms; connect: a connection per request; reply: size of each
        reply, if the protocol is not HTTP.
        """
        process = self.start_load(port, *requests, connections=connections, pause=pause, seconds=seconds,
                                  connect=connect, reply=reply)
        return self.end_load(process)

    def start_load(self, port, *requests, connections=4, pause=20, seconds=None, connect=False, reply=None):
        """The same in the background; end_load() returns the latencies."""
        options = ["-n", connections, "-p", pause, "-s", seconds or self.seconds]
        options += ["-c"] * connect + (["-r", reply] if reply else [])
        texts = [http_request(r, port) if r.startswith("/") else r for r in requests]
        texts = [text.replace("\r", "\\r").replace("\n", "\\n") for text in texts]
        command = [self.compile("load.c"), *options, port, *texts]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   process_group=0)
        self.cleanup.callback(end, process)
        return process

    def end_load(self, process):
        output, errors = process.communicate(timeout=PATIENCE + self.seconds)
        if errors or process.returncode:
            raise Failed(f"the client failed: {errors.strip()[-500:]}")
        return [(int(sent), int(latency)) for _, sent, latency in map(str.split, output.splitlines())]


def http_request(path, port):
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"


def run(*command, check=True, **how):
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **how)
    if check and done.returncode:
        raise Failed(f"'{' '.join(command)[:200]}' exits with {done.returncode}:\n{done.stderr[-2000:]}")
    return done


def connects(port, address="127.0.0.1"):
    with contextlib.suppress(OSError):
        socket.create_connection((address, port)).close()
        return True
    return False


def end(process, number=signal.SIGTERM):
    """End a process that leads a group, and what is left of the group."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def disk_of(path):
    """MAJOR:MINOR of the disk that a file is on."""
    number = path.stat().st_dev
    device = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    if not device.exists():
        raise Skip(f"'{path}' is not on a disk")
    disk = device.parent if (device / "partition").exists() else device
    return (disk / "dev").read_text().strip()


def cgroup_tops(controller):
    """The hierarchies with this controller."""
    version1 = CGROUPS / {"io": "blkio"}.get(controller, controller)
    if version1.is_dir():
        yield version1
    controllers = CGROUPS / "cgroup.subtree_control"
    if controllers.exists() and controller in controllers.read_text().split():
        yield CGROUPS


def cgroup_files(group, name, value):
    """The files of a group that contain a setting of version 2, and their contents."""
    if (group / name.replace("_", ".", 1)).exists():
        return [(name.replace("_", ".", 1), value)]
    if name == "cpu_max":
        quota, period = value.split()
        return [("cpu.cfs_period_us", period), ("cpu.cfs_quota_us", quota)]
    if name == "memory_max":
        return [("memory.limit_in_bytes", value)]
    if name == "io_max":  # "MAJOR:MINOR rbps=N"
        device, limit = value.split()
        which, bytes_per_second = limit.split("=")
        word = {"rbps": "read", "wbps": "write"}[which]
        return [(f"blkio.throttle.{word}_bps_device", f"{device} {bytes_per_second}")]
    raise Skip(f"control groups have no setting '{name}' here")


def remove_cgroup(group):
    """Remove a group once its processes have exited."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.05)

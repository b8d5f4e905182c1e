#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Privileges of the recorder, its symbol workers and its command: as root, with sudo, and with file capabilities."""
import contextlib
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import time

from harness import (SCRATCH, SONDE, TIMEOUT, Capture, Recorder, Skip, each, equal, main, need_program, require, run,
                     test, workload)

KILL, DAC_READ_SEARCH, PTRACE, NICE, SYSLOG, PERFMON, BPF, CHECKPOINT_RESTORE = 5, 2, 19, 23, 34, 38, 39, 40
RECORDING = {DAC_READ_SEARCH, PTRACE, NICE, SYSLOG, PERFMON, BPF, CHECKPOINT_RESTORE}
LOOKING = {DAC_READ_SEARCH, PTRACE, BPF, CHECKPOINT_RESTORE}
GROUP, OTHER = 54321, 54322  # unused groups
NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}"]
SECRET = "correct-horse-battery"


def status(pid):
    """The fields of /proc/PID/status; empty if the process has exited."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return dict(re.findall(r"^(\w+):[ \t]*(.*)$", text, re.MULTILINE))


def capabilities(fields, which):
    bits = int(fields[which], 16)
    return {bit for bit in range(64) if bits >> bit & 1}


def is_sanitized():
    """A build with AddressSanitizer is not confined; see confine.h."""
    return b"__asan_init" in pathlib.Path(SONDE).read_bytes()


@contextlib.contextmanager
def capable_copy(mode=0o750):
    """A directory owned by nobody, with a sonde that has effective file capabilities (+ep)."""
    need_program("setpriv")
    if os.geteuid() != 0:
        raise Skip("only root can give a file capabilities")
    places = [p for p in ("/tmp", "/var/tmp") if not os.statvfs(p).f_flag & os.ST_NOSUID]
    if not places:
        raise Skip("file capabilities have no effect in /tmp and /var/tmp, which are mounted nosuid")
    with tempfile.TemporaryDirectory(prefix="sonde-test-", dir=places[0]) as name:
        place = pathlib.Path(name)
        os.chown(place, NOBODY, NOBODY)
        place.chmod(0o755)
        sonde = place / "sonde"
        shutil.copy(SONDE, sonde)
        os.chown(sonde, 0, GROUP)
        sonde.chmod(mode)
        bits = sum(1 << c for c in RECORDING)
        os.setxattr(sonde, "security.capability",
                    struct.pack("<IIIII", 0x02000001, bits & 0xffffffff, 0, bits >> 32, 0))
        yield place


def member(*command, group=GROUP):
    """Use a shell, because setpriv itself still has capabilities at the exec."""
    return [*AS_NOBODY, f"--groups={group}", "sh", "-c", 'exec "$@"', "sh", *map(str, command)]


def as_nobody(place, *command, group=GROUP, **how):
    """Run a command as a member of the group, in its own directory."""
    return run(*member(*command, group=group), cwd=place, **how)


class Started:
    """A recorder with any command line; its command waits until the end of the body."""

    def __init__(self, command, path, options=(), **how):
        self.path = path
        self.process = subprocess.Popen([*map(str, command), "record", "-q", "-o", str(path), *options, "--",
                                         "sh", "-c", "echo ready; read end"], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
        line = self.process.stdout.readline()
        require(line == "ready\n", f"it did not start: {self.process.stderr.read() if not line else line}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _, words = self.process.communicate(timeout=TIMEOUT)
        equal(self.process.returncode, 0, f"exit code of the recorder, which said '{words.strip()}'")


def check_recorder(pid, allowed):
    fields = status(pid)
    require(capabilities(fields, "CapEff") <= allowed, f"effective: {fields['CapEff']}")
    require(capabilities(fields, "CapPrm") <= allowed, f"permitted: {fields['CapPrm']}")
    equal((capabilities(fields, "CapInh"), capabilities(fields, "CapAmb")), (set(), set()), "inherited")
    equal(fields["NoNewPrivs"], "1", "NoNewPrivs")
    if not is_sanitized():
        equal(fields["Seccomp"], "2", "Seccomp")
    return fields


@each("root", "sudo")
def a_recorder_is_not_root(how):
    env = dict(os.environ)
    env.pop("SUDO_UID", None)
    if how == "sudo":
        env |= {"SUDO_UID": "1234", "SUDO_GID": "1234"}
    with Started([SONDE], SCRATCH / "capture.sonde", env=env) as recorder:
        fields = check_recorder(recorder.process.pid, LOOKING | {KILL})
        for ids in (fields["Uid"].split(), fields["Gid"].split()):
            require(len(set(ids)) == 1 and ids[0] not in ("0", "1234"), f"ids of the recorder: {ids}")
        equal(fields["Groups"].split(), [], "groups")
        equal(capabilities(fields, "CapBnd") - LOOKING - {KILL}, set(), "bounding set")
        equal(recorder.path.stat().st_uid, 1234 if how == "sudo" else 0, "owner of the capture")
        equal(recorder.path.stat().st_mode & 0o777, 0o600, "mode of the capture")
    Capture(recorder.path)


@test
def a_group_member_records_as_its_own_user():
    with capable_copy() as place:
        command = member(place / "sonde")
        with Started(command, place / "capture.sonde", cwd=place) as recorder:
            fields = check_recorder(recorder.process.pid, LOOKING)
            equal(fields["Uid"].split(), [str(NOBODY)] * 4, "user")
        equal(recorder.path.stat().st_uid, NOBODY, "owner of the capture")
        Capture(recorder.path).check()


@test
def without_stacks_and_spans_no_capability_is_kept():
    with Started([SONDE], SCRATCH / "capture.sonde", options=["--no-spans"]) as recorder:
        check_recorder(recorder.process.pid, {KILL})


def children(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []


@each("root", "setcap")
def a_symbol_worker_has_no_privileges(how):
    """Samples workers while they run, which are confined for most of their lifetime."""
    with contextlib.ExitStack() as stack:
        place, command = SCRATCH, [SONDE]
        if how == "setcap":
            place = stack.enter_context(capable_copy())
            command = member(place / "sonde")
        shutil.copy(workload("spin")[0], place / "spin")
        (place / "spin").chmod(0o755)
        recorder = subprocess.Popen([*command, "record", "-q", "-o", "capture.sonde", "--profile=997", "--",
                                     "./spin", "300"], cwd=place, stdout=subprocess.DEVNULL)
        seen = []
        while recorder.poll() is None:
            for child in children(recorder.pid):
                fields = status(child)
                if fields.get("Seccomp_filters", "2") == "2" and fields.get("Name") == "sonde":
                    seen.append(fields)
        equal(recorder.returncode, 0, "exit code of the recorder")
        if is_sanitized():
            raise Skip("a build with AddressSanitizer is not confined")
        readers = [f for f in seen if f["Seccomp"] == "2" and f["NoNewPrivs"] == "1"]
        require(readers, f"no worker in {len(seen)} samples")
        for fields in readers:
            for which in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                equal(capabilities(fields, which), set(), which)
            require("0" not in fields["Uid"].split(), f"user of a worker: {fields['Uid']}")
        text = run(SONDE, "dump", "--json", place / "capture.sonde").stdout
        require("spin_hot" in text, "the function that used the CPU has no name")


@each("root", "setcap")
def a_command_inherits_no_privileges(how):
    script = "cat /proc/self/status; ls -l /proc/self/fd"
    with contextlib.ExitStack() as stack:
        place, command = SCRATCH, [SONDE]
        if how == "setcap":
            place = stack.enter_context(capable_copy())
            command = member(place / "sonde")
        out = run(*command, "record", "-q", "-o", "capture.sonde", "--", "sh", "-c", script, cwd=place,
                  stdin=subprocess.DEVNULL).stdout
        fields = dict(re.findall(r"^(\w+):[ \t]*(.*)$", out, re.MULTILINE))
        want = {} if how == "setcap" else status(os.getpid())
        for which in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            equal(fields[which], want.get(which, "0" * 16), which)
        equal(fields["NoNewPrivs"], "0", "NoNewPrivs")
        fds = re.findall(r" (\d+) -> (\S+)", out)
        require({int(n) for n, _ in fds} <= {0, 1, 2, 3}, f"descriptors of the command: {fds}")


@test
def a_command_of_root_ends_with_the_recording():
    """The command stays root, while the recorder does not."""
    begin = time.monotonic()
    env = os.environ | {"SUDO_UID": "1234", "SUDO_GID": "1234"}
    done = run(SONDE, "record", "-q", "-d", "0.3", "-o", SCRATCH / "capture.sonde", "--", "sh", "-c",
               "trap 'echo ended; exit' TERM; while :; do sleep 0.05; done", env=env)
    equal(done.stdout, "ended\n", "what the command printed")
    require(time.monotonic() - begin < 10, "it waited for the command")


# A binary with file capabilities

@test
def other_commands_do_not_use_file_capabilities():
    """Neither CAP_DAC_READ_SEARCH to read a file, nor CAP_SYS_PTRACE to inspect a process."""
    run(SONDE, "record", "-q", "-o", SCRATCH / "capture.sonde", "--", "true")
    with capable_copy() as place, tempfile.TemporaryDirectory(dir=place.parent) as closed:
        shutil.copy(SCRATCH / "capture.sonde", closed)
        for command in ("info", "dump", "explain", "requests"):
            done = as_nobody(place, place / "sonde", command, f"{closed}/capture.sonde", expect=1)
            require("Permission denied" in done.stderr, f"{command} prints '{done.stderr}'")
        done = as_nobody(place, place / "sonde", "export", "--to=json", f"{closed}/capture.sonde", expect=1)
        require("Permission denied" in done.stderr, f"export prints '{done.stderr}'")
        done = as_nobody(place, place / "sonde", "spans", "--pid", os.getpid(), "--disable=*", expect=1)
        require("permission denied" in done.stderr, f"spans prints '{done.stderr}'")
        out = as_nobody(place, place / "sonde", "run", "--", "cat", "/proc/self/status", expect=None).stdout
        if out:  # the agent is not installed next to the copy
            equal(int(re.search(r"CapPrm:\s*(\w+)", out)[1], 16), 0, "capabilities of what run starts")


@test
def files_named_by_the_user_are_opened_with_the_users_permissions():
    with capable_copy() as place, tempfile.TemporaryDirectory(dir=place.parent) as closed:
        done = as_nobody(place, place / "sonde", "record", "-o", f"{closed}/x", "--", "true", expect=1)
        require("Permission denied" in done.stderr, done.stderr)
        equal(os.listdir(closed), [], "files in root's directory")
        shutil.copy("/bin/true", closed)
        done = as_nobody(place, place / "sonde", "record", "-o", "x", "--", f"{closed}/true", expect=1)
        require("cannot execute" in done.stderr, done.stderr)
        done = as_nobody(place, place / "sonde", "record", "-o", "x", "--cgroup", f"{closed}/a", expect=1)
        require("control group" in done.stderr, done.stderr)


@test
def capabilities_of_a_world_executable_binary_are_not_used():
    with capable_copy(mode=0o755) as place:
        done = as_nobody(place, place / "sonde", "record", "-o", "x", "-a", "-d", "0.1", group=OTHER, expect=1)
        require("every user may execute it" in done.stderr and "chmod 0750" in done.stderr, done.stderr)
        done = as_nobody(place, place / "sonde", "doctor", group=OTHER)
        require("every user may execute it" in done.stdout, done.stdout)
        done = as_nobody(place, place / "sonde", "doctor", "--pid", os.getpid(), group=OTHER, expect=1)
        require("Permission denied" in done.stderr, done.stderr)


@test
def a_user_outside_of_the_group_cannot_execute_sonde():
    with capable_copy() as place:
        done = as_nobody(place, place / "sonde", "doctor", group=OTHER, expect=None)
        require(done.returncode != 0 and "Permission denied" in done.stderr, done.stderr)


@test
def environment_variables_do_not_affect_a_binary_with_capabilities():
    """In particular, SUDO_UID is ignored."""
    with capable_copy() as place:
        env = os.environ | {"SUDO_UID": "1", "SUDO_GID": "1", "SONDE_DEBUG": "1"}
        done = as_nobody(place, place / "sonde", "record", "-q", "-o", "x", "--", "true", env=env)
        equal(done.stderr, "", "words")
        equal((place / "x").stat().st_uid, NOBODY, "owner of the capture")


# Files

@contextlib.contextmanager
def shared_directory():
    with tempfile.TemporaryDirectory(prefix="sonde-test-", dir="/tmp") as name:
        os.chmod(name, 0o1777)
        yield pathlib.Path(name)


@each("file", "link", "fifo")
def a_file_planted_by_another_user_is_not_overwritten(what):
    with shared_directory() as place:
        target, path = place / "target", place / "capture.sonde"
        target.write_text("precious")
        if what == "file":
            path.write_text("theirs")
        elif what == "link":
            path.symlink_to(target)
        else:
            os.mkfifo(path)
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        done = run(SONDE, "record", "-o", path, "--", "true", expect=1)
        require("cannot write" in done.stderr, done.stderr)
        equal(target.read_text(), "precious", "the file behind the link")
        if what == "file":
            equal(path.read_text(), "theirs", "the file of another user")
        equal(path.lstat().st_uid, NOBODY, "owner of what is there")


# Arguments

@each(("masked", []), ("left_out", ["--no-arguments"]))
def secrets_in_command_lines_are(_, options):
    path = SCRATCH / "capture.sonde"
    run(SONDE, "record", "-q", "-o", path, *options, "--", "sh", "-c", "sleep 0.1; :", "sh", f"--password={SECRET}",
        "--token", SECRET, "kept-word")
    require(SECRET.encode() not in path.read_bytes(), "the secret is in the capture")
    words = {r["cmdline"] for r in Capture(path).kind("process")}
    if options:
        require("sh" in words and not any("kept-word" in w for w in words), f"command lines: {words}")
    else:
        require(any("--password=*** --token *** kept-word" in w for w in words), f"command lines: {words}")


@test
def only_the_draining_thread_has_a_real_time_priority():
    with Recorder("-a", "--no-spans") as recorder:
        if not os.sched_getscheduler(recorder.pid) & os.SCHED_RR:
            raise Skip("this system grants no real-time priority")
        others = {int(t.name) for t in pathlib.Path(f"/proc/{recorder.pid}/task").iterdir()} - {recorder.pid}
        children = set(map(int, pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()))
        require(others and children, "the recorder has no other thread or no command")
        equal({os.sched_getscheduler(t) for t in others | children}, {os.SCHED_OTHER}, "policies of the others")
        equal({os.getpriority(os.PRIO_PROCESS, t) for t in others | children}, {0}, "nice values of the others")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde annotate --set` changes a running instance, and no other user can; --budget sheds detail."""
import contextlib
import os
import re
import shutil
import socket

import annotating
from annotating import DIRECTLY, Annotate, Service
from harness import SCRATCH, SONDE, equal, require, run, test
from sink import Sink

NOBODY = 65534


def change(annotate, *settings, expect=0):
    """Settings of one call; what it prints."""
    done = run(SONDE, "annotate", f"--http=127.0.0.1:{annotate.http_port}", *(f"--set={s}" for s in settings), expect=expect)
    return done.stdout.strip() if expect == 0 else done.stderr


def collector(sink):
    return f"http://127.0.0.1:{sink.http_port}"


def slow_spans(annotate, service):
    """How many of ten fast requests are slow now."""
    before = annotate.status()
    for _ in range(10):
        service.call("fast")
    after = annotate.settled("spans_received", before["spans_received"] + 10)
    return after["spans_slow"] - before["spans_slow"]


@test
def thresholds_change_while_running():
    with Sink() as sink, Annotate("--threshold=1h", to=collector(sink)) as annotate:
        with Service(annotate.url()) as service:
            equal(slow_spans(annotate, service), 0, "slow spans")
            equal(change(annotate, "threshold=all"), "threshold all", "reply")
            equal(slow_spans(annotate, service), 10, "slow spans with 'all'")
            rules = SCRATCH / "rules"
            rules.write_text("shop fast none\n")
            rules.chmod(0o600)
            equal(change(annotate, f"config={rules}"), f"threshold all, rules of '{rules}'".split(", ")[1], "reply")
            equal(slow_spans(annotate, service), 0, "slow spans with a rule")
            require("changed while running: threshold all" in annotate.said(), "the log has the change")


@test
def an_invalid_setting_changes_nothing():
    with Sink() as sink, Annotate("--threshold=1h", to=collector(sink)) as annotate:
        rules = SCRATCH / "rules"
        rules.write_text("shop fast soon\n")
        for wrong, words in (("threshold=soon", "not 'soon'"), ("budget=5", "not '5'"), ("limit=5ms", "unknown setting"),
                             (f"config={rules}", "line 1"), ("config=/nonexistent", "No such file")):
            said = change(annotate, "threshold=all", wrong, expect=1)
            require(words in said, f"the message of '{wrong}': {said}")
        with Service(annotate.url()) as service:
            equal(slow_spans(annotate, service), 0, "slow spans")


def control_socket(annotate):
    with DIRECTLY.open(f"{annotate.url()}/control", timeout=10) as reply:
        return "\0" + reply.read().decode()[1:]


def connect(address):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(10)
    client.connect(address)
    return client


@test
def other_users_and_silent_clients_change_and_delay_nothing():
    with Sink() as sink, Annotate("--threshold=1h", to=collector(sink)) as annotate:
        sonde = SCRATCH / "sonde"
        shutil.copy(SONDE, sonde)
        refused = run("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", sonde, "annotate",
                      f"--http=127.0.0.1:{annotate.http_port}", "--set=threshold=all", expect=1)
        require("refuses this user" in refused.stderr, refused.stderr)
        with contextlib.ExitStack() as stack, Service(annotate.url()) as service:
            for _ in range(20):
                stack.enter_context(connect(control_socket(annotate)))
            equal(slow_spans(annotate, service), 0, "slow spans")
            equal(change(annotate, "threshold=all"), "threshold all", "reply beside silent clients")
            equal(slow_spans(annotate, service), 10, "slow spans with 'all'")
        with connect(control_socket(annotate)) as client:
            client.send(b"threshold=1h")  # incomplete: without its end
            require(client.recv(8192)[4:].startswith(b"the settings are incomplete"), "reply to a damaged message")


@test
def two_instances_are_changed_one_by_one():
    with Sink() as sink, Annotate("--threshold=1h", to=collector(sink)) as first:
        with Annotate("--threshold=1h", to=collector(sink)) as second, Service(first.url()) as service:
            change(second, "threshold=all")
            equal(slow_spans(first, service), 0, "slow spans of the other")
            second.process.kill()
            second.process.wait()
            require("cannot reach" in change(second, "threshold=all", expect=1), "a killed instance cannot be reached")
            change(first, "threshold=all")
            equal(slow_spans(first, service), 10, "slow spans")


# Budget

def keep_busy(annotate, service, condition, what):
    """Calls a service until a condition holds."""
    annotate.wait(lambda: service.call("sleep") and condition(), what, 90)


def annotated_now(sink, service):
    """The annotation of a request that begins now."""
    span_id = service.call("sleep")
    found = []

    def has_come():
        found[:] = [s for s in sink.spans() if "sonde.cause" in s.attributes and span_id in (s.id, s.parent)]
        return found
    sink.wait(has_come, "the span is annotated")
    children = [s for s in sink.spans() if s.trace == found[0].trace and "code.stacktrace" in s.attributes]
    return found[0].attributes, children


def metrics(annotate):
    """Metrics, by name."""
    with DIRECTLY.open(f"{annotate.url()}/metrics", timeout=10) as reply:
        return dict(line.rsplit(" ", 1) for line in reply.read().decode().splitlines() if line[0] != "#")


@test
def detail_is_shed_above_the_budget_and_returns():
    """Only processes of this test are in scope, so that there are tasks out of scope."""
    options = ("--threshold=20ms", "--stacks=1ms", "-p", os.getpid(), "--budget=0.1%")
    with Sink() as sink, Annotate(*options, to=collector(sink)) as annotate, Service(annotate.url()) as service:
        attributes, stacks = annotated_now(sink, service)
        require(stacks and "sonde.reduced" not in attributes, f"full detail at first: {attributes} {stacks}")
        keep_busy(annotate, service, lambda: annotate.status()["detail_level"] == 3, "all detail is shed")
        said = annotate.said()
        equal(re.findall(r"detail (.*): used [\d.e-]+ % of a CPU, budget 0.1 %", said),
              ["without stacks", "without stacks and other tasks"], f"changes in the log: {said}")
        attributes, stacks = annotated_now(sink, service)
        equal(attributes.get("sonde.reduced"), "stacks,other_tasks", "attribute")
        require(not stacks, f"stacks of a span without them: {stacks}")
        equal(annotate.status()["budget_ratio"], 0.001, "budget")
        require("without stacks and other tasks" in run(SONDE, "annotate", "--status", f"--http={annotate.http_port}").stdout,
                "--status has the detail")
        values = metrics(annotate)
        equal(values["sonde_annotate_detail_level"], "3", "metric")
        require(float(values['sonde_annotate_cpu_seconds_total{part="recorder"}']) > 0, "CPU time of the recorder")

        equal(change(annotate, "budget=300%"), "budget 300 % of a CPU", "reply")
        annotate.wait(lambda: annotate.status()["detail_level"] == 0, "all detail returns", 90)
        require("detail full" in annotate.said(), "the log has the return")
        keep_busy(annotate, service, lambda: "sonde.reduced" not in annotated_now(sink, service)[0], "spans have all detail")
        attributes, stacks = annotated_now(sink, service)
        require(stacks, "stacks return")


@test
def a_new_recorder_records_all_detail():
    with Sink() as sink, Annotate("--threshold=20ms", "--stacks=1ms", "--budget=0.1%", to=collector(sink)) as annotate:
        with Service(annotate.url()) as service:
            keep_busy(annotate, service, lambda: annotate.status()["detail_level"] == 1, "stacks are shed")
            change(annotate, "budget=300%")
            os.kill(annotate.recorder(), 9)
            annotate.settled("recorder_restarts", 1)
            annotate.wait_recording()
            equal(annotate.status()["detail_level"], 0, "detail level")


annotating.main()

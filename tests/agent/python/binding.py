#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent in Python programs with OpenTelemetry's SDK from PyPI."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "live"), str(HERE.parent.parent / "sdk")]
import check  # noqa: E402
import harness  # noqa: E402
import pypi  # noqa: E402
from harness import SONDE, WORKLOADS, Skip, each, equal, require, run, test  # noqa: E402

PACKAGES = [*pypi.OPENTELEMETRY, "uvloop==0.23.0", "gevent==26.9.0", "greenlet==3.5.6", "trio==0.35.0"]
# The current span can change in ways that cannot always be followed.
MAY_BE_UNKNOWN = {"uvloop", "greenlets", "gevent"}
ENV = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | {
    "no_proxy": "*", "PYTHONDONTWRITEBYTECODE": "1"}
BINDING = "libsonde-agent-python.so"


def sdk():
    """The Python interpreter with the SDK."""
    if not (pathlib.Path(SONDE).parent / "src" / "agent" / "python" / BINDING).exists():
        raise Skip("built without the binding: python3-dev was missing")
    try:
        return pypi.install(WORKLOADS / "sdk", PACKAGES)
    except pypi.Skip as skip:
        raise Skip(str(skip)) from skip


def newer():
    """A Python with eager tasks: this one, or another one installed on this host."""
    code = "import sys, venv, asyncio; asyncio.eager_task_factory; print(sys.executable)"
    versions = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    names = (sys.executable, "python3.13", "python3.12", *sorted(versions.glob("3.1[23].*/bin/python3")))
    for name in filter(shutil.which, names):
        done = run(name, "-c", code, expect=None)
        if done.returncode == 0:
            return done.stdout.strip()
    raise Skip("eager tasks need Python 3.12 or later")


def eager_sdk():
    python = newer()
    if python == sys.executable:
        return sdk()
    try:
        return pypi.install(WORKLOADS / "sdk-eager", PACKAGES, python)
    except pypi.Skip as skip:
        raise Skip(str(skip)) from skip


def under_agent(*command, **how):
    return run(SONDE, "run", "--", *command, env=ENV, **how)


@each("nested", "remote", "generators", "contexts", "threads", "tasks", "eager_tasks", "uvloop", "trio", "greenlets",
      "gevent", "forks")
def the_current_span_is_published_with(scenario):
    python = eager_sdk() if scenario == "eager_tasks" else sdk()
    done = under_agent(python, HERE / "scenarios.py", scenario, expect=None)
    if done.returncode == 77:
        raise Skip(done.stdout.strip())
    equal(done.returncode, 0, f"exit code; stderr: '{done.stderr[-2000:]}'")
    counts = json.loads(done.stdout)
    print(counts)
    equal((counts.get("wrong", 0), counts.get("missing", 0)), (0, 0), "wrong or missing")
    require(counts["right"] > 1, "too few spans were published")
    require(scenario in MAY_BE_UNKNOWN or not counts.get("unknown"), "some were unknown")


@test
def spans_of_threads_pools_and_tasks_match_the_truth():
    check.check([sdk(), HERE / "spans.py", "@"], harness.SCRATCH, env=ENV)


@each(("sync", "--workers", "2"), ("gthread", "--workers", "2", "--threads", "4"), ("gevent", "--workers", "2"),
      ("preloaded", "--workers", "2", "--preload", "--threads", "2"))
def requests_to_gunicorn_match_the_truth(kind, *options):
    worker = [] if kind == "preloaded" else ["--worker-class", kind]
    _, recorded = check.check([sdk(), HERE / "serve.py", "@", 23, *worker, *options], harness.SCRATCH, env=ENV)
    services = {row["service"] for row in recorded.spans.values()}
    equal(services, {"shop"}, "services")


@test
def spans_of_short_lived_processes_match_the_truth():
    check.check([sdk(), HERE / "storm.py", "@"], harness.SCRATCH, env=ENV)


def recorded(*command):
    return run(SONDE, "record", "-q", "-o", harness.SCRATCH / "x.sonde", "--", SONDE, "run", "--", *command, env=ENV)


@test
def the_export_is_unchanged():
    """Console and OTLP, with and without the agent."""
    python, requests = sdk(), []
    outputs = [how(python, HERE / "exports.py", "console").stdout
            for how in (lambda *command: run(*command, env=ENV), recorded)]
    for i, how in enumerate((lambda *command: run(*command, env=ENV), recorded)):
        scratch = harness.SCRATCH / str(i)
        scratch.mkdir()
        how(python, HERE.parent.parent / "sdk" / "export.py", "spans", scratch)
        files = sorted(scratch.glob("request-*.otlp"))
        requests.append(subprocess.run([python, HERE / "exports.py", "plain", *files], env=ENV, check=True,
                                       capture_output=True).stdout)
    require(len(requests[0]) > 20000 and len(outputs[0]) > 5000, "almost nothing is exported")
    equal(requests[1], requests[0], "OTLP with the agent")
    equal(*(without_ids(text) for text in reversed(outputs)), "console with the agent")


def without_ids(text):
    return re.sub(r'0x[0-9a-f]+|"\d{4}-\d\d-\d\dT[^"]*"', "X", text)


@each("plain", ("isolated", "-I"), ("without_site", "-S"), ("without_environment", "-E"))
def a_program_without_sdk_is_unchanged(_, *options):
    outputs = []
    for how in ((), (SONDE, "run", "--")):
        done = run(*how, sys.executable, *options, HERE / "bare.py", env=ENV, stdin=subprocess.DEVNULL)
        outputs.append(json.loads(done.stdout))
    for name, value in outputs[0].items():
        equal(outputs[1][name], value, f"{name} with the agent")


IS_LOADED = f"print('{BINDING}' in open('/proc/self/maps').read())"


@each(("import", "import opentelemetry.sdk.trace"), ("from", "from opentelemetry.sdk import trace"),
      ("import_module", "import importlib; importlib.import_module('opentelemetry.sdk.trace')"),
      ("export", "from opentelemetry.sdk.trace.export import BatchSpanProcessor"))
def the_sdk_is_detected_with(_, code):
    equal(under_agent(sdk(), "-I", "-c", f"{code}\n{IS_LOADED}").stdout, "True\n", "the binding is loaded")


@test
def doctor_finds_the_binding():
    code = "import opentelemetry.sdk.trace as t; t.TracerProvider().get_tracer('x').start_span('y').end(); print(); input()"
    with harness.Background([SONDE, "run", "--", sdk(), "-c", code], gate=False) as process:
        process.process.stdout.readline()
        features = json.loads(run(SONDE, "doctor", "--json", "--pid", process.pid).stdout)["features"]
        print(run(SONDE, "doctor", "--pid", process.pid).stdout)
    require(all(f["ok"] for f in features), f"something is missing: {features}")
    equal([f["reason"] for f in features if f["name"] == "sdk"], ["Python; sonde's binding is loaded"], "SDK")


@test
def the_binding_is_not_loaded_for_the_api_alone():
    code = f"import opentelemetry.trace, asyncio, gevent\n{IS_LOADED}"
    equal(under_agent(sdk(), "-c", code).stdout, "False\n", "the binding is loaded")


if __name__ == "__main__":
    harness.main()

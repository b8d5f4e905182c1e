#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run programs with opentelemetry-cpp, with and without the agent: cpp.py AGENT PROGRAMS [REASON]

AGENT is libsonde-agent.so and PROGRAMS the folder of the built programs.  REASON explains why there is no
binding; then the tests that need it are skipped.  The SDK's exports and the programs' exit codes must not
differ; the programs themselves check what they publish (see published.h).  Prints TAP.
"""
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

AGENT, PROGRAMS = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
REASON = sys.argv[3] if len(sys.argv) > 3 else ""
ENV = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | {"no_proxy": "*"}
TIMES = re.compile(r'^(\s*(?:start|duration|timestamp)\s*:\s*)\d+|((?:start|end)?[tT]imeUnixNano"\s*:\s*)"?\d+"?', re.M)
EDGE_CASES = ["providers", "exit_order", "late_provider", "custom_storage", "forks"]


class Skip(Exception):
    """The test cannot run here."""


def run(program, *args, agent=None, expect=0):
    """Run a program with a library preloaded, if given.  Returns its output."""
    done = subprocess.run([PROGRAMS / program, *args], env=ENV | ({"LD_PRELOAD": str(agent)} if agent else {}),
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == expect, \
        f"{program} {args} exits with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"
    return done.stdout


def doctor_on_sdk(agent):
    """What `sonde doctor` reports about the SDK in a waiting program."""
    sonde = AGENT.parents[2] / "sonde"
    with subprocess.Popen([PROGRAMS / "edge_cases", "waits"], env=ENV | {"LD_PRELOAD": str(agent)}, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        done = subprocess.run([sonde, "doctor", "--json", "--pid", str(process.pid)], capture_output=True, text=True)
        process.stdin.close()
    return next(f["reason"] for f in json.loads(done.stdout)["features"] if f["name"] == "sdk")


def need_binding():
    if REASON:
        raise Skip(REASON)


def same(plain, followed):
    plain, followed = (TIMES.sub(r"\1\2T", text) for text in (plain, followed))
    assert len(plain) > 1000, f"almost nothing was exported: {plain}"
    if plain != followed:
        pairs = zip(plain.splitlines(), followed.splitlines())
        raise AssertionError(next((f"{a!r} became {b!r}" for a, b in pairs if a != b), "the lengths differ"))


def export_as_text_is_unchanged():
    need_binding()
    same(run("export"), run("export", agent=AGENT))


class Collector(http.server.BaseHTTPRequestHandler):
    bodies = []

    def do_POST(self):
        Collector.bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def spans_of(body):
    """Each span as sent, with the parts of the request before and after its spans.

    The number of spans in a batch depends on when the exporting thread runs.
    """
    before, mark, rest = body.partition('"spans":[')
    spans = []
    while not rest.startswith("]"):
        _, length = json.JSONDecoder().raw_decode(rest)
        spans.append(rest[:length])
        rest = rest[length:].removeprefix(",")
    return [f"{before}{mark}{span}{rest}" for span in spans]


def export_as_otlp_is_unchanged():
    need_binding()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1/traces"
    results = []
    for agent in (None, AGENT):
        Collector.bodies = []
        run("export", url, agent=agent)
        assert len(Collector.bodies) >= 25, f"only {len(Collector.bodies)} requests"
        spans = [span for body in Collector.bodies for span in spans_of(body)]
        assert len(spans) == 40, f"{len(spans)} spans"
        results.append("\n".join(sorted(TIMES.sub(r"\1\2T", span) for span in spans)))
    server.shutdown()
    same(*results)


def edge_case(name):
    def check():
        need_binding()
        run("edge_cases", name)
        run("edge_cases", name, agent=AGENT)
    return check


def a_plugin_with_the_sdk_can_be_loaded_and_unloaded():
    need_binding()
    for host in (["edge_cases", "plugin"], ["host"]):
        run(*host, PROGRAMS / "libplugin.so")
        run(*host, PROGRAMS / "libplugin.so", agent=AGENT)


def an_sdk_inside_a_library_is_left_alone():
    run("host", PROGRAMS / "libother-sdk.so")
    run("host", PROGRAMS / "libother-sdk.so", agent=AGENT)


def another_version_of_the_sdk_is_left_alone():
    """Patches the version in the SDK's default resource."""
    need_binding()
    listed = subprocess.run(["ldd", PROGRAMS / "edge_cases"], capture_output=True, text=True, check=True).stdout
    library = re.search(r"=> (\S*/(libopentelemetry_resources\.so\S*))", listed)
    version = re.search(r"telemetry\.sdk\.version: (\S+)", run("export"))[1]
    changed = "0" + version[1:]
    with tempfile.TemporaryDirectory() as scratch:
        other = pathlib.Path(scratch) / library[2]
        other.write_bytes(pathlib.Path(library[1]).read_bytes().replace(version.encode() + b"\0",
                                                                        changed.encode() + b"\0"))
        assert f"telemetry.sdk.version: {changed}" in run("export", agent=other), "the version was not patched"
        same(run("export", agent=other), run("export", agent=f"{AGENT}:{other}"))
        text = run("edge_cases", "providers", agent=f"{AGENT}:{other}", expect=1)
        assert "'' is published" in text, f"it is followed: {text}"
        text = doctor_on_sdk(f"{AGENT}:{other}")
        assert text == "opentelemetry-cpp; sonde's binding does not support this version of the SDK", text


def doctor_finds_the_binding():
    need_binding()
    text = doctor_on_sdk(AGENT)
    assert text == "opentelemetry-cpp; sonde's binding is loaded", text


def a_program_without_an_sdk_is_unchanged():
    """Compares mapped files (except the agent), and the numbers of descriptors and threads."""
    def resources(agent):
        lines = [line.strip() for line in run("host", agent=agent).splitlines()]
        return {line for line in lines if line and not line.startswith(str(AGENT.parent / "libsonde-agent.so"))}

    plain, followed = resources(None), resources(AGENT)
    assert plain == followed, f"different: {plain ^ followed}"


def main():
    tests = [export_as_text_is_unchanged, export_as_otlp_is_unchanged, a_plugin_with_the_sdk_can_be_loaded_and_unloaded,
             an_sdk_inside_a_library_is_left_alone, another_version_of_the_sdk_is_left_alone,
             doctor_finds_the_binding, a_program_without_an_sdk_is_unchanged]
    named = [(test.__name__, test) for test in tests] + [(name, edge_case(name)) for name in EDGE_CASES]
    print(f"1..{len(named)}")
    failed = 0
    for number, (name, test) in enumerate(named, 1):
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except Skip as e:
            print(f"ok {number} - {name} # SKIP {e}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as e:
            failed += 1
            print(f"not ok {number} - {name}\n# {e}", flush=True)
    sys.exit(failed > 0)


main()

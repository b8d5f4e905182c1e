#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with opentelemetry-cpp, with and without the agent: cpp.py AGENT PROGRAMS [WHY]

AGENT is libsonde-agent.so and PROGRAMS the folder of the built ones; WHY says why there
is no binding, and then what needs one is skipped.  What the SDK exports, and how programs
end, must not differ; what a program publishes, it checks itself (see seen.h).  Prints TAP.
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
WHY = sys.argv[3] if len(sys.argv) > 3 else ""
ENV = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | {"no_proxy": "*"}
TIMES = re.compile(r'^(\s*(?:start|duration|timestamp)\s*:\s*)\d+|((?:start|end)?[tT]imeUnixNano"\s*:\s*)"?\d+"?', re.M)
ODD = ["providers", "exit_order", "late_provider", "custom_storage", "forks"]


class Skip(Exception):
    """It cannot be told here."""


def run(program, *args, agent=None, expect=0):
    """agent: what to preload, if anything. Returns what the program prints."""
    done = subprocess.run([PROGRAMS / program, *args], env=ENV | ({"LD_PRELOAD": str(agent)} if agent else {}),
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == expect, \
        f"{program} {args} exits with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"
    return done.stdout


def doctor_on_sdk(agent):
    """What sonde, which is where it was built, says of the SDK in a program that waits."""
    sonde = AGENT.parents[2] / "sonde"
    with subprocess.Popen([PROGRAMS / "odd", "waits"], env=ENV | {"LD_PRELOAD": str(agent)}, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        said = subprocess.run([sonde, "doctor", "--json", "--pid", str(process.pid)], capture_output=True, text=True)
        process.stdin.close()
    return next(f["reason"] for f in json.loads(said.stdout)["features"] if f["name"] == "sdk")


def need_binding():
    if WHY:
        raise Skip(WHY)


def same(plain, followed):
    plain, followed = (TIMES.sub(r"\1\2T", text) for text in (plain, followed))
    assert len(plain) > 1000, f"next to nothing was exported: {plain}"
    if plain != followed:
        pairs = zip(plain.splitlines(), followed.splitlines())
        raise AssertionError(next((f"{a!r} became {b!r}" for a, b in pairs if a != b), "it is longer, or shorter"))


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
    """Each as sent, between what the request says before its spans and after them.

    How many a request of the batch has depends on when its thread came to run.
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


def odd(name):
    def check():
        need_binding()
        run("odd", name)
        run("odd", name, agent=AGENT)
    return check


def a_plugin_with_the_sdk_comes_and_goes():
    need_binding()
    for host in (["odd", "plugin"], ["host"]):
        run(*host, PROGRAMS / "libplugin.so")
        run(*host, PROGRAMS / "libplugin.so", agent=AGENT)


def an_sdk_inside_of_a_library_is_left_alone():
    run("host", PROGRAMS / "libother-sdk.so")
    run("host", PROGRAMS / "libother-sdk.so", agent=AGENT)


def another_version_of_the_sdk_is_left_alone():
    """It says its version in its default resource; so we change what it says."""
    need_binding()
    listed = subprocess.run(["ldd", PROGRAMS / "odd"], capture_output=True, text=True, check=True).stdout
    library = re.search(r"=> (\S*/(libopentelemetry_resources\.so\S*))", listed)
    version = re.search(r"telemetry\.sdk\.version: (\S+)", run("export"))[1]
    changed = "0" + version[1:]
    with tempfile.TemporaryDirectory() as room:
        other = pathlib.Path(room) / library[2]
        other.write_bytes(pathlib.Path(library[1]).read_bytes().replace(version.encode() + b"\0",
                                                                        changed.encode() + b"\0"))
        assert f"telemetry.sdk.version: {changed}" in run("export", agent=other), "the version is elsewhere"
        same(run("export", agent=other), run("export", agent=f"{AGENT}:{other}"))
        words = run("odd", "providers", agent=f"{AGENT}:{other}", expect=1)
        assert "'' is published" in words, f"it is followed all the same: {words}"
        words = doctor_on_sdk(f"{AGENT}:{other}")
        assert words == "opentelemetry-cpp; our binding does not fit this version of its SDK", words


def doctor_sees_the_binding():
    need_binding()
    words = doctor_on_sdk(AGENT)
    assert words == "opentelemetry-cpp; our binding is in the process", words


def a_program_without_an_sdk_is_left_as_it_was():
    """Files mapped (all but the agent itself), and how many descriptors and threads."""
    def inside(agent):
        lines = [line.strip() for line in run("host", agent=agent).splitlines()]
        return {line for line in lines if line and not line.startswith(str(AGENT.parent / "libsonde-agent.so"))}

    plain, followed = inside(None), inside(AGENT)
    assert plain == followed, f"more or less is in it: {plain ^ followed}"


def main():
    tests = [export_as_text_is_unchanged, export_as_otlp_is_unchanged, a_plugin_with_the_sdk_comes_and_goes,
             an_sdk_inside_of_a_library_is_left_alone, another_version_of_the_sdk_is_left_alone,
             doctor_sees_the_binding, a_program_without_an_sdk_is_left_as_it_was]
    named = [(test.__name__, test) for test in tests] + [(name, odd(name)) for name in ODD]
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

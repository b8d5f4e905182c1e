#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fault lab: record services with a known fault, and compare sonde's explanation with the truth.

usage: lab.py [--sonde=BINARY] [--build=DIRECTORY] [--keep=DIRECTORY] [--seconds=N] [--json] [NAME]...

Each file beside this one is a fault:

    __doc__     what is wrong
    NEEDS       programs, or Python modules of Debian (`python3:NAME`), without which the fault is skipped
    TRUTH       regular expression of the first cause that `sonde explain` must print: the kind of wait and the
                party that is responsible, as an engineer would say it; written before sonde's output was read
    PARTLY      regular expression of a cause that points in the right direction, but misses the party or the kind
    OF_ENTRY    true if `sonde explain` is limited to the entry, because other entries have slower requests by design
    SPANS       file below lab.directory to which a collector writes the spans of the services; optional.  sonde
                explains the capture together with these spans
    start(lab)  start the services; returns the port that clients call
    client(lab) send requests to that port, and return (send time, latency) of each in ns, as the client
                measures them; optional, the default calls "/" of the port on 4 connections

The services are recorded with the default options, the client is not.  The verdict is `right`, `partly`
(also if sonde reports an unknown cause) or `wrong`: a lead that points elsewhere.  The percentiles of
latency of the entry are compared with the client's: within 10 %, or 0.3 ms.

Rules of analysis may be chosen with the faults of TUNED; the others are held out, to show how the rules
fare with faults that they were not chosen for.

Exits with 1 on a wrong lead or if a percentile is off.  Needs root.
"""
import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE / "support"))
sys.dont_write_bytecode = True
import judge  # noqa: E402
import services  # noqa: E402

TUNED = set("""
    mutex_sleep row_lock_long cpu_query pool_of_one cpu_hog redis_script cold_mmap delaying_proxy accept_queue
    asyncio_blocked java_gc node_loop haproxy_maxconn slow_dns grpc_worker n_plus_one table_lock gunicorn_prefork
    node_cluster thread_pool_queue worker_queue
""".split())
SKIP = 77  # exit code of a test
PRIORITY = -10  # nice value: other load of the host is not part of any fault
EXPORTS = 2  # seconds within which a service exports its last spans
READY = ["sh", "-c", "echo ready; read end"]  # ends with its input; recorded with the services


def names():
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem != "lab")


def load_fault(name):
    spec = importlib.util.spec_from_file_location(f"fault_{name}", HERE / f"{name}.py")
    fault = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fault)
    return fault


def missing(fault):
    """The first program or module that a fault needs and that is not installed."""
    for need in getattr(fault, "NEEDS", ()):
        kind, _, module = need.partition(":")
        if not module and not shutil.which(need):
            return need
        if module and subprocess.run([services.PYTHON, "-c", f"import {module}"], capture_output=True).returncode:
            return f"Python module {module}"
    return None


@contextlib.contextmanager
def recording(binary, capture, pids):
    """Record processes during the body of `with`."""
    options = [word for pid in pids for word in ("-p", str(pid))]
    recorder = subprocess.Popen([binary, "record", "-q", "-o", capture, *options, "--", *READY], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
    try:
        if recorder.stdout.readline() != "ready\n":
            raise services.Failed(f"cannot record: {recorder.stderr.read().strip()}")
        yield
        _, warnings = recorder.communicate("\n", timeout=120)
        if recorder.returncode:
            raise services.Failed(f"the recorder exits with {recorder.returncode}: {warnings.strip()}")
    finally:
        services.end(recorder, signal.SIGINT)


def measure(fault, binary, build, capture, seconds):
    """Record a fault; returns the port of the entry and the latencies of its client, in ns."""
    with services.Lab(build, seconds) as lab:
        port = fault.start(lab)
        with recording(binary, capture, lab.pids):
            drive = getattr(fault, "client", lambda of: of.load(port, "/"))
            latencies = [latency for _, latency in drive(lab)]
        if not latencies:
            raise services.Failed("the client has no replies")
        return port, latencies, keep_spans(fault, lab, capture)


def keep_spans(fault, lab, capture):
    """The inputs beside the capture: the spans of a fault, once its services have exported them."""
    if not hasattr(fault, "SPANS"):
        return []
    time.sleep(EXPORTS)
    spans = capture.with_suffix(".otlp")
    shutil.copy(lab.directory / fault.SPANS, spans)
    return [spans]


def entry_options(fault, port):
    return [f"--entry={port}"] if getattr(fault, "OF_ENTRY", False) else []


def examine(name, binary, build, capture, seconds):
    """Run a fault and judge it; returns what is printed."""
    fault = load_fault(name)
    result = {"fault": name, "half": "tuned" if name in TUNED else "held out", "verdict": "skipped"}
    if absent := missing(fault):
        return result | {"reason": f"there is no {absent}"}
    try:
        port, latencies, inputs = measure(fault, binary, build, capture, seconds)
        text_cause, json_cause, text = judge.causes(binary, capture, *inputs, *entry_options(fault, port))
        found = judge.judge_causes(fault, text_cause, json_cause)
        row = judge.entry_of(binary, capture, port)
    except services.Skip as skip:
        return result | {"reason": str(skip)}
    except (services.Failed, judge.Unexplained) as failure:
        return result | {"verdict": "failed", "reason": str(failure)}
    percentiles = [dict(zip(("percentile", "sonde", "client", "agrees"), row)) for row in judge.compare(row, latencies)]
    return result | {"verdict": found.word, "cause": found.cause, "text": text, "percentiles": percentiles,
                     "requests": row["count"], "client_requests": len(latencies)}


def milliseconds(ns):
    return f"{ns / 1e6:.2f}" if ns < 1e7 else f"{ns / 1e6:.0f}"


def percentile_words(result):
    words = [f"p{p['percentile']} {milliseconds(p['sonde'])} / {milliseconds(p['client'])}{'' if p['agrees'] else ' !'}"
             for p in result.get("percentiles", ())]
    return ", ".join(words)


def show(result):
    """One fault in two or three lines."""
    print(f"{result['verdict']:8} {result['fault']:18} {result['half']:9} {percentile_words(result)}", flush=True)
    if "cause" in result:
        print(f"         {result['cause'] or '(no cause)'}")
        if result["requests"] != result["client_requests"]:
            print(f"         {result['requests']} requests, the client sent {result['client_requests']}")
    if "reason" in result:
        print(f"         {result['reason']}")
    sys.stdout.flush()


def row_cells(result):
    """A fault as a row of bench/RESULTS.md."""
    percentiles = [f"{milliseconds(p['sonde'])} / {milliseconds(p['client'])}{'' if p['agrees'] else ' !'}"
                   for p in result.get("percentiles", ())]
    cause = result.get("cause", result.get("reason", "")).splitlines()
    return [result["fault"], result["half"], result["verdict"], cause[0] if cause else "", *(percentiles or [""] * 3)]


def table(results):
    rows = [["fault", "half", "verdict", "first cause", "p50", "p95", "p99"], ["---"] * 7, *map(row_cells, results)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def are_off(results):
    return [r["fault"] for r in results if not all(p["agrees"] for p in r.get("percentiles", ()))]


def counts(results):
    return {word: sum(r["verdict"] == word for r in results) for word in ("right", "partly", "wrong", "skipped", "failed")}


def summary(results):
    off, judged = are_off(results), sum("cause" in r for r in results)
    return "\n".join([
        f"\n{table(results)}\n",
        f"First cause of {judged}: " + ", ".join(f"{count} {word}" for word, count in counts(results).items()) + ".",
        f"Percentiles (sonde / client, ms; within {judge.TOLERANCE:.0%} or {judge.FLOOR / 1e6} ms): "
        f"{judged - len(off)} agree, {len(off)} off{': ' if off else ''}{', '.join(off)}."])


def passes(results):
    count = counts(results)
    return not count["wrong"] and not count["failed"] and not are_off(results)


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sonde", default=TOP / "build" / "sonde", type=pathlib.Path)
    parser.add_argument("--build", default=TOP / "build" / "faults", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--seconds", default=6, type=float)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    if unknown := set(options.names) - set(names()):
        sys.exit(f"lab.py: unknown fault '{unknown.pop()}'; there are: {' '.join(names())}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that services end
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    captures = options.keep or options.build / "captures"
    captures.mkdir(parents=True, exist_ok=True)
    results = []
    for name in options.names or names():
        capture = captures / f"{name}.sonde"
        results.append(examine(name, options.sonde.resolve(), options.build, capture, options.seconds))
        if "text" in results[-1]:
            (captures / f"{name}.txt").write_text(results[-1]["text"])
        if not options.keep:
            capture.unlink(missing_ok=True)
        if not options.json:
            show(results[-1])
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        print(summary(results))
    if all(result["verdict"] == "skipped" for result in results):
        sys.exit(SKIP)
    sys.exit(0 if passes(results) else 1)


if __name__ == "__main__":
    main()

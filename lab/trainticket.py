#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Diagnose the faults of a public data set: spans of TrainTicket (Nezha, 2023-01-29), without kernel events.

usage: trainticket.py DATA_DIR [--sonde SONDE] [--convert CSV]

DATA_DIR has traces-2023-01-29.tar.xz and 2023-01-29-fault_list.json.  The traces before the faults are the
baseline; for each fault, the traces of the two minutes from its start on are diagnosed.  Prints the rank of the
service with the fault among the services of the findings.  --convert prints one CSV file as Jaeger's JSON.
"""
import argparse
import csv
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

MINUTES = 2


def service_of(pod):
    """ts-order-service-5d6c8f-x2x9z: without the suffixes of its replica."""
    return re.sub(r"(-[0-9a-f]{6,10})?-[0-9a-z]{5}$", "", pod)


def span_of(row):
    parent = row["ParentID"]
    references = [] if parent == "root" else [{"refType": "CHILD_OF", "traceID": row["TraceID"], "spanID": parent}]
    start, end = int(row["StartTimeUnixNano"]), int(row["EndTimeUnixNano"])
    return {"traceID": row["TraceID"], "spanID": row["SpanID"], "operationName": row["OperationName"],
            "references": references, "startTime": start // 1000, "duration": (end - start) // 1000,
            "processID": service_of(row["PodName"]), "tags": [], "logs": []}


def jaeger_of(rows):
    traces = {}
    for row in rows:
        traces.setdefault(row["TraceID"], []).append(span_of(row))
    return {"data": [{"traceID": trace, "spans": spans,
                      "processes": {span["processID"]: {"serviceName": span["processID"], "tags": []} for span in spans}}
                     for trace, spans in traces.items()]}


def convert(paths, out):
    rows = [row for path in paths for row in csv.DictReader(path.open())]
    out.write_text(json.dumps(jaeger_of(rows)))
    return out


def minutes_of(directory, begin):
    """The files of the minutes from a time on; their names are HH_MM_trace.csv."""
    times = [begin + datetime.timedelta(minutes=i) for i in range(MINUTES)]
    paths = [directory / f"{time:%H_%M}_trace.csv" for time in times]
    return [path for path in paths if path.exists()]


def rank_of(service, findings):
    """The rank of a service among the services of the findings; 0 if it is not among them."""
    services = list(dict.fromkeys(finding["service"] for finding in findings))
    return services.index(service) + 1 if service in services else 0


def diagnose(sonde, baseline, spans):
    done = subprocess.run([sonde, "diagnose", "-b", baseline, "--json", "--top", "1000", spans], capture_output=True,
                          text=True, check=True)
    return json.loads(done.stdout)


def faults_of(path):
    listed = json.loads(path.read_text())
    return [fault for hour in sorted(listed) for fault in listed[hour]]


def run(args, work):
    with tarfile.open(args.data / "traces-2023-01-29.tar.xz") as archive:
        archive.extractall(work, filter="data")
    baseline = work / "usual.baseline"
    usual = convert(sorted((work / "construct_data").rglob("*_trace.csv")), work / "usual.json")
    subprocess.run([args.sonde, "learn", "-o", baseline, usual], check=True)
    directory, ranks = next((work / "rca_data").rglob("trace")), []
    print(f"{'fault':20} {'service':28} {'traces':>6} {'new types':>9} {'flagged':>8}  rank")
    for fault in faults_of(args.data / "2023-01-29-fault_list.json"):
        begin = datetime.datetime.strptime(fault["inject_time"], "%Y-%m-%d %H:%M:%S")
        paths, service = minutes_of(directory, begin), service_of(fault["inject_pod"])
        if not paths:
            print(f"{fault['inject_type']:20} {service:28} no traces at {begin:%H:%M}")
            continue
        report = diagnose(args.sonde, baseline, convert(paths, work / "fault.json"))
        rank = rank_of(service, report["findings"])
        ranks.append(rank)
        new = sum(kind["traces"] for kind in report["unknown_types"])
        print(f"{fault['inject_type']:20} {service:28} {report['traces']:6} {new:9} "
              f"{report['flagged']:4}/{report['spans']:<5} {rank or '-'}")
    found = sorted(rank for rank in ranks if rank)
    print(f"{len(ranks)} faults: first {found.count(1)}, in the first three {sum(r <= 3 for r in found)}, "
          f"in no finding {ranks.count(0)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--sonde", type=pathlib.Path, default=pathlib.Path("build/sonde"))
    parser.add_argument("--convert", type=pathlib.Path, metavar="CSV")
    args = parser.parse_args()
    if args.convert:
        json.dump(jaeger_of(csv.DictReader(args.convert.open())), sys.stdout)
        return
    with tempfile.TemporaryDirectory() as work:
        run(args, pathlib.Path(work))


main()

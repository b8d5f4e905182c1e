# SPDX-License-Identifier: Apache-2.0
"""Which cases the lab runs, in which order.

A fault in a target of an application is an experiment, such as `sleep bank users`.  Hashes decide
which experiments are in the tuning half and which are held out, so that no person chooses: those of a
fault are sorted by the hash of their names and go to the halves in turn; the propagated ones do so
among themselves.  A case is an experiment with a strength; there are several of each.  The kinds of
cases:

    alone        one fault, in a service that the entry calls, or in the entry
    propagated   one fault, two calls below the entry
    two          two faults of the same half in different services, at the same time
    clean        no fault
    factorial    times that depend on an argument; in both halves, and not counted as unseen
"""
import dataclasses
import functools
import hashlib
import importlib.util
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
HALVES = ("tuning", "held-out")
APPLICATIONS = ("bank", "bank-sync", "demo", "factorial")
PROPAGATED = {("bank", "ledger:balance")}
REPEATS = {"alone": 3, "propagated": 6, "factorial": 2}
PAIRS = {"bank": 12, "bank-sync": 0, "demo": 8, "factorial": 0}  # cases with two faults
CLEAN_EVERY = 8  # cases


@dataclasses.dataclass
class Case:
    name: str
    app: str
    kind: str
    half: str
    faults: list  # of (fault, target, strength)
    seed: int = 0
    truths: list = dataclasses.field(default_factory=list)  # none for a clean case


def fault_names():
    return sorted(path.stem for path in (HERE / "faults").glob("*.py"))


@functools.cache
def load_fault(name):
    """The module of a fault, under a name that no module of an application has."""
    spec = importlib.util.spec_from_file_location(f"fault_{name}", HERE / "faults" / f"{name}.py")
    fault = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fault)
    return fault


def experiments():
    """(fault, application, target) of each experiment."""
    return [(name, app, target) for name in fault_names()
            for app, targets in load_fault(name).TARGETS.items() for target in targets]


def digest(text):
    return hashlib.sha256(str(text).encode()).digest()


def stratum(experiment):
    """Experiments among which the halves alternate."""
    return experiment[0] if kind_of(*experiment) == "alone" else kind_of(*experiment)


@functools.cache
def halves():
    """The half of each experiment."""
    groups = {}
    for experiment in sorted(experiments(), key=lambda e: digest(" ".join(e))):
        groups.setdefault(stratum(experiment), []).append(experiment)
    return {experiment: HALVES[(number + digest(name)[0]) % 2]
            for name, group in groups.items() for number, experiment in enumerate(group)}


def half_of(*experiment):
    return halves()[experiment]


def kind_of(fault, app, target):
    default = "propagated" if (app, target) in PROPAGATED else "alone"
    return getattr(load_fault(fault), "KIND", default)


def truths_of(faults, app):
    found = [load_fault(fault).truth_of(app, target) for fault, target, _ in faults]
    return [one for one in found if one]


def make_case(app, kind, half, faults, number):
    name = "-".join([app, *(f"{fault}@{target.replace(':', '.')}" for fault, target, _ in faults), str(number)])
    return Case(name, app, kind, half, faults, int.from_bytes(digest(name)[:2]) + 1, truths_of(faults, app))


def strength_of(fault, app, number):
    """The strengths of a fault in turn; some depend on the application, `bank` for bank-sync, too."""
    strengths = load_fault(fault).STRENGTHS
    if isinstance(strengths, dict):
        strengths = strengths[app.partition("-")[0]]
    return strengths[number % len(strengths)]


def single_cases(half, app):
    for fault, where, target in experiments():
        kind = kind_of(fault, where, target)
        if where == app and (kind == "factorial" or half_of(fault, where, target) == half):
            for number in range(REPEATS[kind]):
                yield make_case(app, kind, half, [(fault, target, strength_of(fault, app, number))], number)


def can_share(first, second, app):
    """Whether two experiments can run at the same time: they act in different services."""
    one, other = (load_fault(fault).truth_of(app, target) for fault, _, target in (first, second))
    return not one.services & other.services and "workers" not in (first[0], second[0])


def shuffled(items, salt):
    return sorted(items, key=lambda item: digest(f"{salt} {item}"))


def paired_cases(half, app):
    """Cases with two faults; the hash of their names decides which."""
    here = [e for e in experiments() if e[1] == app and half_of(*e) == half and kind_of(*e) == "alone"]
    both = [(a, b) for i, a in enumerate(here) for b in here[i + 1:] if can_share(a, b, app)]
    for number, pair in enumerate(shuffled(both, "two")[:PAIRS[app]]):
        yield make_case(app, "two", half, [(fault, target, strength_of(fault, app, number)) for fault, _, target in pair], 0)


def with_clean(cases, app, half):
    """The cases in random order, with clean ones between them."""
    cases = list(cases)
    random.Random(1).shuffle(cases)
    mixed = []
    for number, case in enumerate(cases):
        if number % CLEAN_EVERY == 0:
            mixed.append(make_case(app, "clean", half, [], number // CLEAN_EVERY))
        mixed.append(case)
    return mixed


def full(half):
    return {app: with_clean([*single_cases(half, app), *paired_cases(half, app)], app, half) for app in APPLICATIONS}


def first_of_each(cases, key):
    """The first case for each value of key(case)."""
    found = {}
    for case in cases:
        found.setdefault(key(case), case)
    return list(found.values())


def short(half):
    """One case of each fault, one with two faults, one propagated, and clean ones, without bank-sync."""
    whole = full(half)
    apps = [app for app in APPLICATIONS if app != "bank-sync"]
    cases = shuffled([case for app in apps for case in whole[app] if case.kind in ("alone", "factorial")], "short")
    chosen = first_of_each(cases, lambda case: case.faults[0][0])
    chosen += first_of_each((case for case in whole["bank"] if case.kind in ("propagated", "two")), lambda case: case.kind)
    return {app: with_clean([case for case in chosen if case.app == app], app, half) for app in apps}

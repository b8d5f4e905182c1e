# SPDX-License-Identifier: Apache-2.0
"""What is wrong in a case, and which findings of `sonde diagnose` name it.

A Truth is written in the file of a fault, before any run:

    places       (service, regular expression of operations, letters) where time is lost, and in which states;
                 any of them is right.  Letters are None if any change of these operations is right
    also         more places that are right, but whose spans are not counted as those of the faulty operations
    culprit      regular expression that is searched in "KIND NAME" of the culprit; NAME is that of the service if
                 the report names no culprit
    is_party     whether the culprit is another party than the service's own code
"""
import dataclasses
import re

HANDLERS = {"bank": r".* /.*", "demo": r"(?!call ).*", "factorial": r".*"}  # spans of requests, not of calls


@dataclasses.dataclass
class Truth:
    places: list
    culprit: str
    is_party: bool = True
    also: list = dataclasses.field(default_factory=list)

    @property
    def services(self):
        return {service for service, *_ in self.places}


def handler(app, target, letters, culprit, is_party=True):
    """The truth of a fault in the handlers of SERVICE, or in one operation, SERVICE:OPERATION."""
    service, _, operation = target.partition(":")
    pattern = rf".*\b{operation}\b.*" if operation else HANDLERS[app.partition("-")[0]]
    return Truth([(service, pattern, letters)], culprit.format(service=service), is_party)


def all_of(services, letters):
    """All operations of some services."""
    return [(service, r".*", letters) for service in services]


def own_code(app, target, letters):
    """The truth of a fault for which the code of the service is to blame, not another party."""
    return handler(app, target, letters, r"^none|^(function|process)\b|{service}", is_party=False)


def is_at(places, row, letter=None):
    """Whether a finding or an operation of a report is at one of the places, and this letter is one of its letters."""
    return any(row["service"] == service and re.fullmatch(operations, row["operation"])
               and (letter is None or letters is None or letter in letters)
               for service, operations, letters in places)


def is_right(truth, finding):
    """Whether a finding names the right service, operation and cause."""
    return is_at(truth.places + truth.also, finding, finding.get("state") or "no state")


def names_culprit(truth, finding):
    culprit = finding.get("culprit") or {}
    text = f"{culprit.get('kind') or 'none'} {culprit.get('name') or finding['service']}"
    return re.search(truth.culprit, text) is not None

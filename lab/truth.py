# SPDX-License-Identifier: Apache-2.0
"""What is wrong in a case, and which findings of `sonde diagnose` name it.

A Truth is written in the file of a fault, before any run:

    services     services in which the fault acts; any of them is right
    operations   regular expression of the operations in which the time is lost
    states       letters of the state that it adds; None if any change of these operations is right
    culprit      regular expression that is searched in "KIND NAME" of the culprit
    is_party     whether the culprit is another party than the service's own code
"""
import dataclasses
import re

HANDLERS = {"bank": r".* /.*", "demo": r"(?!call ).*", "factorial": r".*"}  # spans of requests, not of calls


@dataclasses.dataclass
class Truth:
    services: list
    operations: str
    states: str | None
    culprit: str
    is_party: bool = True


def handler(app, target, states, culprit, is_party=True):
    """The truth of a fault in the handlers of SERVICE, or in one operation, SERVICE:OPERATION."""
    service, _, operation = target.partition(":")
    pattern = rf".*\b{operation}\b.*" if operation else HANDLERS[app.partition("-")[0]]
    return Truth([service], pattern, states, culprit.format(service=service), is_party)


def own_code(app, target, states):
    """The truth of a fault for which the code of the service is to blame, not another party."""
    return handler(app, target, states, r"^none|^(function|process)\b|{service}", is_party=False)


def is_place(truth, row):
    """Whether a finding or an operation of a report is where the fault acts."""
    return row["service"] in truth.services and re.fullmatch(truth.operations, row["operation"]) is not None


def is_right(truth, finding):
    """Whether a finding names the right service, operation and cause."""
    return is_place(truth, finding) and (truth.states is None or bool(finding.get("state"))
                                         and finding["state"] in truth.states)


def names_culprit(truth, finding):
    culprit = finding.get("culprit") or {}
    return re.search(truth.culprit, f"{culprit.get('kind', 'none')} {culprit.get('name') or ''}") is not None

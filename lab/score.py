# SPDX-License-Identifier: Apache-2.0
"""Compare reports of `sonde diagnose --json` with the truth, and sum up.

A case is right first if the first finding has the right service, operation and cause; with two faults, if it
has those of either.  It is right in the first three if they contain a right finding for each fault.  The
culprit is that of the first right finding.
"""
import math

import truth

FIRST = 3  # findings that count
LETTERS = {"lock": "L", "auditor": "L", "flush": "D", "hog": "C", "quota": "Q"}  # faults whose letter must be flagged
Z = 1.959964  # of a 95 % interval


def wilson(count, total):
    """The Wilson 95 % interval of a share; (0, 1) without observations."""
    if not total:
        return 0.0, 1.0
    share, square = count / total, Z * Z / total
    middle, half = share + square / 2, Z * math.sqrt(share * (1 - share) / total + square / (4 * total))
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))


def culprit_of(one, findings):
    """Whether the first right finding names the culprit of a fault; None without a right finding."""
    right = [finding for finding in findings if truth.is_right(one, finding)]
    return truth.names_culprit(one, right[0]) if right else None


def letter_counts(one, operations, letter):
    """(flagged with the letter, all) of the spans of the faulty operations that are slower than the baseline's p99."""
    rows = [row for row in operations if truth.is_at(one.places, row, letter)]
    flagged = sum((row.get("slower_than_p99_flagged_by_state") or {}).get(letter, 0) for row in rows)
    return flagged, sum(row.get("slower_than_p99", 0) for row in rows)


def place_counts(truths, operations):
    """(flagged, flagged by the paper's rule, all) spans of the faulty operations."""
    rows = [row for row in operations if any(truth.is_at(one.places, row) for one in truths)]
    return [sum(row.get(key, 0) for row in rows) for key in ("flagged", "flagged_paper", "spans")]


def in_words(finding):
    """A finding in one line, to show what came first instead."""
    culprit = finding.get("culprit") or {}
    name = f" ({culprit.get('kind', 'none')} {culprit.get('name') or ''})".replace(" )", ")")
    return f"{finding['service']} {finding['operation']}: {finding.get('kind', '?')} {finding.get('state') or ''}{name}"


def score(case, report):
    """The verdicts of one case."""
    findings = sorted(report["findings"], key=lambda finding: finding["rank"])
    truths, operations = case.truths, report["operations"]
    result = {"name": case.name, "app": case.app, "kind": case.kind, "faults": [fault for fault, *_ in case.faults],
              "traces": report["traces"], "spans": report["spans"], "flagged": report["flagged"],
              "flagged_paper": report["flagged_paper"], "findings": [in_words(one) for one in findings[:FIRST]],
              "causes": [one.get("cause") for one in findings[:FIRST]]}
    if not truths:
        return result
    result["first"] = bool(findings) and any(truth.is_right(one, findings[0]) for one in truths)
    result["three"] = all(any(truth.is_right(one, f) for f in findings[:FIRST]) for one in truths)
    result["culprits"] = [(culprit_of(one, findings[:FIRST]), one.is_party) for one in truths]
    result["place"] = place_counts(truths, operations)
    result["letters"] = {fault: letter_counts(one, operations, LETTERS[fault])
                         for (fault, *_), one in zip(case.faults, truths) if fault in LETTERS}
    return result


def counted(values):
    """(number of true values, number of values) of those that are not None."""
    values = [value for value in values if value is not None]
    return sum(map(bool, values)), len(values)


def culprits(results, only_parties=False):
    return counted(named for r in results for named, is_party in r["culprits"] if is_party or not only_parties)


def letter_sums(results, fault):
    pairs = [r["letters"][fault] for r in results if fault in r["letters"]]
    return sum(flagged for flagged, _ in pairs), sum(total for _, total in pairs)


def shares(results, key):
    """Flagged and all spans of clean cases."""
    return sum(r[key] for r in results), sum(r["spans"] for r in results)

# SPDX-License-Identifier: Apache-2.0
"""The results of the lab as Markdown, for bench/RESULTS.md."""
import score

UNSEEN = ("alone", "propagated", "two")


def percent(count, total):
    return f"{100 * count / total:.1f} %" if total else "–"


def with_interval(pair):
    """`95.0 % [90.1, 97.6] 114/120`"""
    count, total = pair
    if not total:
        return "–"
    low, high = score.wilson(count, total)
    return f"{percent(count, total)} [{100 * low:.1f}, {100 * high:.1f}] {count}/{total}"


def markdown(head, rows):
    rows = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def of_kind(results, *kinds):
    return [r for r in results if r["kind"] in kinds and "reason" not in r]


def goals(results):
    """(what, measured, aim) of each figure."""
    unseen, propagated, two = of_kind(results, *UNSEEN), of_kind(results, "propagated"), of_kind(results, "two")
    one, clean = of_kind(results, "alone", "propagated"), of_kind(results, "clean")
    yield "right service and cause first", score.counted(r["first"] for r in unseen), "95 %"
    yield "one fault: in the first three", score.counted(r["three"] for r in one), "99 %"
    yield "propagated: right first", score.counted(r["first"] for r in propagated), "90 %"
    yield "two faults: both in the first three", score.counted(r["three"] for r in two), "–"
    yield "right culprit, if the cause is right", score.culprits(unseen), "85 %"
    yield "the same, if another party is to blame", score.culprits(unseen, only_parties=True), "85 %"
    yield "clean runs: flagged spans", score.shares(clean, "flagged"), "at most 1 %"
    yield "clean runs: flagged by the paper's rule", score.shares(clean, "flagged_paper"), "–"
    for fault, letter in score.LETTERS.items():
        yield f"{fault}: slow spans flagged as {letter}", score.letter_sums(unseen, fault), "90 %"


def fault_row(results, fault, app):
    rows = [r for r in results if r["faults"] == [fault] and r["app"] == app]
    place = [sum(values) for values in zip(*(r["place"] for r in rows))]
    tally = [score.counted(r[key] for r in rows) for key in ("first", "three")]
    return [fault, app, len(rows), *(f"{count}/{total}" for count, total in tally),
            "{}/{}".format(*score.culprits(rows)), percent(place[0], place[2]), percent(place[1], place[2])]


def by_fault(results):
    judged = of_kind(results, "alone", "propagated")
    pairs = sorted({(r["faults"][0], r["app"]) for r in judged})
    return markdown(["fault", "application", "cases", "first", "first three", "culprit", "spans flagged", "paper's rule"],
                    [fault_row(judged, *pair) for pair in pairs])


def factorial(results):
    rows = [[r["name"], r["spans"], percent(r["flagged"], r["spans"]), percent(r["flagged_paper"], r["spans"])]
            for r in of_kind(results, "factorial")]
    return markdown(["factorial", "spans", "flagged", "paper's rule"], rows)


def has_failed(result):
    return "reason" in result or not result.get("first", True) or not result.get("three", True) or \
        any(named is False for named, _ in result.get("culprits", ()))


def verdict(result):
    """What is wrong with a case, in a word or two."""
    if "reason" in result:
        return result["reason"]
    words = [word for word, key in (("not first", "first"), ("not in the first three", "three")) if not result[key]]
    return ", ".join(words or ["culprit"])


def failures(results):
    """Each case that is not right, with the findings that came first instead."""
    rows = [[r["name"], verdict(r), "; ".join(r.get("findings", [])) or "no finding"] for r in results if has_failed(r)]
    return markdown(["case", "wrong", "first findings"], rows) if rows else "All cases are right."


def text(results, half):
    """All tables."""
    unseen = of_kind(results, *UNSEEN)
    busy = sum(bool(r.get("disturbed")) for r in results)
    head = (f"{len(unseen)} cases with faults, {len(of_kind(results, 'clean'))} clean ones; {half} half. Other programs or the "
            f"hypervisor used CPU time during {busy} of {len(results)}. [95 % Wilson interval]")
    figures = markdown(["", "measured", "aim"], [[what, with_interval(pair), aim] for what, pair, aim in goals(results)])
    return "\n\n".join([head, figures, by_fault(results), factorial(results), "What failed:", failures(results)])

# SPDX-License-Identifier: Apache-2.0
"""Numbers with their spread, and tables of them.

Every comparison is made within a round: all variants run once in each round, in
random order, so that disturbances of the host affect all of them alike.
A ratio is the median of the rounds' ratios, and its interval comes from
resampling the rounds (95 %, bootstrap).
"""
import random
import statistics
import sys


def median(values):
    return statistics.median(values)


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def interval(values, draws=2000):
    """The 95 % interval of the medians of resampled values."""
    rng = random.Random(1)
    medians = sorted(median(rng.choices(values, k=len(values))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


def ratios(values, base):
    return [v / b for v, b in zip(values, base) if b]


def differences(values, base):
    return [v - b for v, b in zip(values, base)]


def show(values, form="{:.1f}"):
    """A median and the quartiles around it, as text."""
    low, high = quartiles(values)
    return f"{form.format(median(values))} ({form.format(low)}–{form.format(high)})"


def show_sure(values, form="{:.1f}"):
    """A median and its 95 % interval, as text."""
    low, high = interval(values)
    return f"{form.format(median(values))} [{form.format(low)}, {form.format(high)}]"


def table(header, rows):
    """Print a table that is readable as text and as Markdown."""
    cells = [header] + [[str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row):
        return "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |"

    print(line(cells[0]))
    print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
    print("\n".join(map(line, cells[1:])))
    print(flush=True)


class Progress:
    """A progress line on a terminal; nothing elsewhere."""

    def __init__(self, name, total):
        self.name, self.total, self.done = name, total, 0
        self.shown = sys.stderr.isatty()

    def step(self, words=""):
        self.done += 1
        if self.shown:
            print(f"\r\033[K{self.name}: {self.done} of {self.total} {words}", end="",
                  file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def rounds(name, count, variants, measure):
    """Run measure(variant) for each variant in each round, in random order.

    Returns {variant: [one result for each round]}.
    """
    results = {v: [] for v in variants}
    progress = Progress(name, count * len(results))
    for _ in range(count):
        for variant in random.sample(list(results), len(results)):
            results[variant].append(measure(variant))
            progress.step(str(variant))
    progress.end()
    return results

# SPDX-License-Identifier: Apache-2.0
"""Verdicts on claims: sentences with measured numbers.

A claim is split into checks. Each passes, fails, or cannot be made here; together they say whether the
claim holds.
"""

import math
from dataclasses import dataclass

from .. import machine
from ..contenders import label
from ..samples import text

HOLDS = "holds"
IN_PART = "holds in part"
FAILS = "does not hold"
UNTESTABLE = "cannot be tested here"
NOT_MEASURED = "not measured"

KINDS = (HOLDS, IN_PART, FAILS, UNTESTABLE, NOT_MEASURED)


@dataclass(frozen=True)
class Check:
    passed: bool | None  # None: cannot be made here
    told: str  # the sentence with the numbers

    @property
    def mark(self):
        return {True: "yes", False: "no", None: "unknown"}[self.passed]


@dataclass(frozen=True)
class Verdict:
    kind: str
    checks: tuple = ()
    why: str = ""  # besides the checks


class Missing(Exception):
    """Names something that a judge needs and that was not measured."""


class Findings:
    """The input of a judge: the samples of a figure and the machine."""

    def __init__(self, samples_by_benchmark, facts):
        self._samples = samples_by_benchmark
        self.machine = facts
        self.cpus = facts["cpus"]

    def samples(self, benchmark=None):
        benchmark = benchmark or next(iter(self._samples))
        if self._samples[benchmark] is None:
            raise Missing(benchmark)
        return self._samples[benchmark]

    def row(self, table, name, benchmark=None):
        found = self.samples(benchmark).row(table, name)
        if found is None:
            raise Missing(f"'{table}' at {name}")
        return found

    def median(self, table, name, contender, benchmark=None):
        value = self.samples(benchmark).median(self.row(table, name, benchmark), contender)
        if value is None:
            raise Missing(f"{label(contender)} in '{table}'")
        return value

    def has(self, contender, table=None, benchmark=None):
        samples = self.samples(benchmark)
        return contender in samples.contenders(samples.rows(table))

    def times(self, table, name, ours, other, benchmark=None):
        """How many times as good ours is, with the spread over the turns."""
        found = self.samples(benchmark).times_as_good(self.row(table, name, benchmark), ours, other)
        if found is None:
            missing = other if self.has(ours, table, benchmark) else ours
            raise Missing(f"{label(missing)} in '{table}' at {name}")
        return found

    def places(self, table, benchmark=None):
        """The places of a curve in ascending order."""
        found = sorted(row.x for row in self.samples(benchmark).rows(table) if row.x is not None)
        if not found:
            raise Missing(f"'{table}'")
        return found

    def places_on_cpus(self, table, benchmark=None):
        """The numbers of threads up to that of the CPUs."""
        places = self.places(table, benchmark)
        return [x for x in places if x <= self.cpus] or places[:1]


def spread_text(spread):
    """'2.31 (2.20 to 2.40)'; the spread only where there is one."""
    return " ".join(filter(None, [times_text(spread.median), ends_text(spread)]))


def ends_text(spread):
    """'(2.20 to 2.40)'; nothing where both are the same."""
    lowest, highest = times_text(spread.lowest), times_text(spread.highest)
    return "" if lowest == highest else f"({lowest} to {highest})"


def times_text(value):
    if math.isinf(value):
        return "\N{INFINITY}"
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def rate(row):
    """The unit of a rate, as in 'twice the loops per second'."""
    return "number per second" if row.unit == "per second" else row.unit


def compared(found, table, name, ours, other, where="", benchmark=None):
    """A sentence that compares the two, and the spread of the ratio."""
    spread = found.times(table, name, ours, other, benchmark)
    row = found.row(table, name, benchmark)
    mine, its = (text(found.median(table, name, one, benchmark)) for one in (ours, other))
    place = where or (f"at {row.name}" if row.x is None else f"at {row.x:g}")
    if row.better == "more":
        told = (
            f"has {spread_text(spread)} times the {rate(row)} of {label(other)} {place}"
            f" ({mine} against {its})"
        )
    elif row.unit == "bytes":
        told = f"takes {mine} bytes {place}, {label(other)} {its}"
    else:
        told = (
            f"is {spread_text(spread)} times as fast as {label(other)} {place}"
            f" ({mine} against {its} {row.unit})"
        )
    return f"{label(ours)} {told}", spread


def at_least(found, table, name, ours, other, times, where="", benchmark=None):
    """Checks that ours is so many times as good as the other."""
    told, spread = compared(found, table, name, ours, other, where, benchmark)
    return Check(spread.median >= times, told)


def at_each(what):
    """The text of a place that is a number of something."""
    return lambda x: f"at {x:g} {what}" if x == 1 else f"at {x:g} {what}s"


def never_below(found, table, places, ours, other, times, place=at_each("thread")):
    """The same for the worst of several places."""
    worst = min(places, key=lambda x: found.times(table, x, ours, other).median)
    where = place(worst) + (", the worst place" if len(places) > 1 else "")
    told, spread = compared(found, table, worst, ours, other, where)
    return Check(spread.median >= times, told)


def named(of, check):
    """Prefixes a check with its subject."""
    return Check(check.passed, f"{of}: {check.told}")


def grows(found, table, first, last, contender, times):
    """Whether the contender's rate grows that much from one place to another."""
    low, high = (found.median(table, x, contender) for x in (first, last))
    unit = rate(found.row(table, last))
    told = (
        f"{label(contender)} has {times_text(high / low)} times the {unit} at {last:g} that it has"
        f" at {first:g}"
    )
    return high / low >= times, told


def decide(checks, limits=""):
    """The verdict of several checks; `limits` explains why some do not pass."""
    made = [check for check in checks if check.passed is not None]
    passed = sum(check.passed for check in made)
    if not made:
        kind = UNTESTABLE
    elif passed == len(checks):
        kind = HOLDS
    else:
        kind = IN_PART if passed else FAILS
    return Verdict(kind, tuple(checks), "" if kind == HOLDS else limits)


def few_cpus(found, papers):
    """The reason that most claims about scaling meet here."""
    if found.cpus >= papers:
        return ""
    return f"{machine.count(found.cpus, 'CPU')} {'is' if found.cpus == 1 else 'are'} not {papers}."


def judged(figure, found):
    """The verdict on the figure, or the reason why there is none."""
    if figure.elsewhere:
        return Verdict(UNTESTABLE, why=figure.elsewhere)
    try:
        return figure.judge(found)
    except Missing as problem:
        return Verdict(NOT_MEASURED, why=f"Not measured: {problem}.")
    except ZeroDivisionError:
        why = "A rival did nothing in the time; measure longer."
        return Verdict(NOT_MEASURED, why=why)

# SPDX-License-Identifier: Apache-2.0
"""Whether a simulation agrees with what a paper prints: the order of the locks, and the figures.

An order that the seeds do not agree on is open; a figure agrees if it is within a factor of two.
"""

import itertools
import math
import statistics
from dataclasses import dataclass

from ..contenders import label
from ..figures.judging import Check, times_text
from ..samples import Spread, text

WITHIN = 2

AGREES = "agrees"
IN_PART = "agrees in part"
DISAGREES = "disagrees"
NOTHING_PRINTED = "nothing to compare"
NOT_SIMULATED = "not simulated"

KINDS = (AGREES, IN_PART, DISAGREES, NOTHING_PRINTED, NOT_SIMULATED)


@dataclass(frozen=True)
class Compared:
    """A printed number and the simulated one."""

    table: str
    contender: str
    x: float
    unit: str
    printed: float
    simulated: Spread | None  # None: it did nothing in the simulated time
    how: str = ""

    @property
    def factor(self):
        """Above 1: the simulated figure is larger. Infinite: there is none."""
        return self.simulated.median / self.printed if self.simulated else math.inf

    @property
    def off(self):
        """The same in either direction."""
        return max(self.factor, 1 / self.factor) if self.factor else math.inf

    @property
    def is_near(self):
        return self.off <= WITHIN


@dataclass(frozen=True)
class Order:
    """One statement about who is before whom, or how many pairs of printed numbers."""

    check: Check
    agree: int
    is_open: int
    count: int


@dataclass(frozen=True)
class Verdict:
    kind: str
    line: str  # all of it in one
    numbers: tuple = ()
    orders: tuple = ()


class Values:
    """The simulated values of one figure."""

    def __init__(self, samples):
        self.samples = samples

    def row(self, table, x):
        return self.samples.row(table, x)

    def has(self, table, x, contender):
        row = self.row(table, x)
        return row is not None and contender in self.samples.contenders([row])

    def spread(self, table, x, contender):
        """None if it was not simulated, or did nothing in the time."""
        row = self.row(table, x)
        return self.samples.spread(row, contender) if row else None

    def score(self, table, x, contender):
        """(lowest, median, highest) of how good it is: more is better. 0 for one that did nothing."""
        row = self.row(table, x)
        if row is None or contender not in self.samples.contenders([row]):
            return None
        spread = self.samples.spread(row, contender)
        if spread is None:
            return 0.0, 0.0, 0.0
        values = (spread.lowest, spread.median, spread.highest)
        if row.better != "less":
            return values
        return tuple(1 / value if value else math.inf for value in reversed(values))


def ratio(one, other):
    """(lowest, median, highest) of one score over another."""
    def over(a, b):
        return a / b if b else (math.inf if a else 1.0)

    return over(one[0], other[2]), over(one[1], other[1]), over(one[2], other[0])


def at_least(times, found):
    """True or False if the seeds agree, None if the order is open."""
    if found[0] >= times:
        return True
    return False if found[2] < times else None


def together(outcomes):
    """All have to pass; one that fails decides."""
    if False in outcomes:
        return False
    return None if None in outcomes or not outcomes else True


# --- Orders ---


def _ahead(values, claim, times):
    first, *others = claim["contenders"]
    for x, other in itertools.product(claim["at"], others):
        pair = [values.score(claim["table"], x, one) for one in (first, other)]
        if None not in pair:
            found = ratio(*pair)
            yield (
                at_least(times, found), found[1] / times,
                f"{label(first)} has {times_text(found[1])} times {label(other)}'s at {x:g}",
            )


def _like(values, claim, times):
    first, other = claim["contenders"]
    for x in claim["at"]:
        pair = [values.score(claim["table"], x, one) for one in (first, other)]
        if None not in pair:
            low, median, high = ratio(*pair)
            inside = low >= 1 / times and high <= times
            outside = high < 1 / times or low > times
            off = max(median, 1 / median) if median else math.inf
            yield (
                True if inside else False if outside else None, -off,
                f"{label(first)} has {times_text(median)} times {label(other)}'s at {x:g}",
            )


def _changes(values, claim):
    """From each place to the next: (ratio, words)."""
    (of,) = claim["contenders"]
    scores = [(x, values.score(claim["table"], x, of)) for x in claim["at"]]
    known = [one for one in scores if one[1] is not None]
    for (x, before), (y, after) in itertools.pairwise(known):
        found = ratio(after, before)
        yield found, f"{label(of)} has {times_text(found[1])} times at {y:g} what it has at {x:g}"


def _grows(values, claim, times):
    for found, words in _changes(values, claim):
        yield at_least(times, found), found[1], words


def _falls(values, claim, times):
    for found, words in _changes(values, claim):
        turned = tuple(1 / one if one else math.inf for one in reversed(found))
        yield at_least(times, turned), turned[1], words


def _flat(values, claim, times):
    for (low, median, high), words in _changes(values, claim):
        yield (
            True if high <= times and low >= 1 / times else False if low > times or high < 1 / times else None,
            -max(median, 1 / median) if median else -math.inf, words,
        )


def _peaks(values, claim, share):
    (of,) = claim["contenders"]
    rows = values.samples.rows(claim["table"])
    scores = [one for row in rows if (one := values.score(row.table, row.x, of))]
    for x in claim["at"]:
        here = values.score(claim["table"], x, of)
        if here and scores:
            found = ratio(here, max(scores, key=lambda one: one[1]))
            yield at_least(share, found), found[1], f"{label(of)} has {found[1]:.0%} of its peak at {x:g}"


def _below(values, claim, most):
    (of,) = claim["contenders"]
    for x in claim["at"]:
        spread = values.spread(claim["table"], x, of)
        if spread:
            passed = True if spread.highest <= most else False if spread.lowest > most else None
            unit = values.row(claim["table"], x).unit
            yield passed, -spread.median, f"{text(spread.median)} {unit} at {x:g}"


def _above(values, claim, least):
    (of,) = claim["contenders"]
    for x in claim["at"]:
        spread = values.spread(claim["table"], x, of)
        if spread:
            passed = at_least(least, (spread.lowest, spread.median, spread.highest))
            yield passed, spread.median, f"{text(spread.median)} at {x:g}"


KINDS_OF_CLAIM = {
    "ahead": _ahead, "like": _like, "grows": _grows, "falls": _falls, "flat": _flat, "peaks": _peaks,
    "below": _below, "above": _above,
}


def order(values, claim):
    """None if nothing of the claim was simulated."""
    made = list(KINDS_OF_CLAIM[claim["kind"]](values, claim, claim.get("times", 1)))
    if not made:
        return None
    passed = together([outcome for outcome, _, _ in made])
    worst = min(made, key=lambda one: one[1])
    words = worst[2] + (", the worst place" if len(made) > 1 else "")
    check = Check(passed, f"“{claim['words']}”: {words}{'; open' if passed is None else ''}")
    return Order(check, int(passed is True), int(passed is None), 1)


def orders_of_numbers(values, numbers):
    """Of each two numbers in one place of a table: whether the better one is the same."""
    places = {}
    for one in numbers:
        places.setdefault((one["table"], one["x"]), []).append(one)
    for (table, x), there in places.items():
        wrong, is_open, pairs = [], [], 0
        for first, second in itertools.combinations(there, 2):
            if first["value"] == second["value"]:
                continue
            row = values.row(table, x)
            scores = [values.score(table, x, one["contender"]) for one in (first, second)]
            if row is None or None in scores:
                continue
            less, more = (first, second) if first["value"] < second["value"] else (second, first)
            good, bad = (less, more) if row.better == "less" else (more, less)
            outcome = at_least(1, ratio(*(values.score(table, x, one["contender"]) for one in (good, bad))))
            pairs += 1
            good, bad = label(good["contender"]), label(bad["contender"])
            if outcome is False:
                wrong.append(f"{bad} is before {good}")
            elif outcome is None:
                is_open.append(f"{good} before {bad}")
        if pairs:
            told = f"{table} at {x:g}: {pairs - len(wrong) - len(is_open)} of {pairs} pairs in the printed order"
            if wrong:
                told += f", but {', '.join(wrong)}"
            if is_open:
                told += f"; open: {', '.join(is_open)}"
            check = Check(False if wrong else None if is_open else True, told)
            yield Order(check, pairs - len(wrong) - len(is_open), len(is_open), pairs)


# --- The verdict ---


def compared(values, numbers):
    for one in numbers:
        row = values.row(one["table"], one["x"])
        if row and one["contender"] in values.samples.contenders([row]):
            yield Compared(
                one["table"], one["contender"], one["x"], row.unit, one["value"],
                values.samples.spread(row, one["contender"]), one.get("how", ""),
            )


def factor_text(one):
    """'4.7 times smaller'"""
    if math.isinf(one.factor):
        return "none in the simulated time"
    if one.off < 1.005:
        return "the same"
    return f"{times_text(one.off)} times {'larger' if one.factor > 1 else 'smaller'}"


def line_of(numbers, orders, has_numbers):
    """All of it in one line."""
    parts = []
    if orders:
        yes, is_open, count = (sum(getattr(one, name) for one in orders) for name in ("agree", "is_open", "count"))
        what = "statements" if all(one.count == 1 for one in orders) else "pairs"
        told = f"Order: {yes} of {count} {what} as in the paper"
        parts.append(told + (f", {is_open} open" if is_open else ""))
    if numbers:
        near = sum(one.is_near for one in numbers)
        worst = max(numbers, key=lambda one: one.off)
        finite = [one.off for one in numbers if not math.isinf(one.off)]
        told = f"Figures: {near} of {len(numbers)} within a factor of {WITHIN}"
        if finite:
            told += f", {times_text(statistics.median(finite))} in the median"
        parts.append(f"{told}; at worst {label(worst.contender)} at {worst.x:g}, {factor_text(worst)}")
    if not has_numbers:
        parts.append(
            "The paper prints no numbers of it, only the plot" if orders
            else "The paper prints nothing that can be compared"
        )
    return ". ".join(parts) + "."


def judged(samples, published):
    """The verdict on a simulated figure; `samples` is None if it was not simulated."""
    if samples is None:
        return Verdict(NOT_SIMULATED, "")
    values = Values(samples)
    numbers = tuple(compared(values, published["numbers"]))
    made = (order(values, claim) for claim in published["claims"])
    orders = (*orders_of_numbers(values, published["numbers"]), *(one for one in made if one is not None))
    outcomes = [*(one.is_near for one in numbers), *(one.check.passed for one in orders)]
    if not outcomes:
        kind = NOTHING_PRINTED
    elif all(outcome is True for outcome in outcomes):
        kind = AGREES
    else:
        kind = IN_PART if True in outcomes else DISAGREES
    return Verdict(kind, line_of(numbers, orders, bool(published["numbers"])), numbers, orders)

# SPDX-License-Identifier: Apache-2.0
"""The figures of one benchmark: values by row, contender and turn, with medians and ratios."""

import math
import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """The meaning of a figure: its table, its name there, and how to read it."""

    table: str
    name: str
    unit: str
    better: str  # less, more, or neither: not compared
    x: float | None = None  # its place on the axis, where it is a point of a curve


@dataclass(frozen=True)
class Spread:
    """A median with the lowest and the highest value."""

    median: float
    lowest: float
    highest: float

    @staticmethod
    def of(values):
        return Spread(statistics.median(values), min(values), max(values))


class Samples:
    """The rows of a benchmark, in the order of measurement."""

    def __init__(self, rows=()):
        """From rows in the format of results.schema.json."""
        self._values = {}
        for row in rows:
            known = Row(row["table"], row["name"], row["unit"], row["better"], row.get("x"))
            self._values.setdefault(known, {})[row["contender"]] = list(row["values"])

    def add(self, row, contender, turn, value):
        """Turns in which the contender failed hold None."""
        values = self._values.setdefault(row, {}).setdefault(contender, [])
        values += [None] * (turn + 1 - len(values))
        values[turn] = value

    def as_rows(self):
        for row, by_contender in self._values.items():
            for contender, values in by_contender.items():
                place = {} if row.x is None else {"x": row.x}
                yield {
                    "contender": contender,
                    "table": row.table,
                    "name": row.name,
                    **place,
                    "unit": row.unit,
                    "better": row.better,
                    "values": values,
                }

    def rows(self, table=None):
        return [row for row in self._values if table is None or row.table == table]

    def tables(self):
        return list(dict.fromkeys(row.table for row in self._values))

    def contenders(self, rows=None):
        """The contenders in these rows, or in all."""
        chosen = self._values if rows is None else rows
        return list(dict.fromkeys(one for row in chosen for one in self._values.get(row, ())))

    def row(self, table, name):
        """The row with that name, or the point at that place; None if there is none."""
        for row in self.rows(table):
            if row.name == name or (row.x is not None and row.x == name):
                return row
        return None

    def spread(self, row, contender):
        """None where the contender has no value."""
        values = self.values(row, contender)
        return Spread.of(values) if values else None

    def median(self, row, contender):
        spread = self.spread(row, contender)
        return None if spread is None else spread.median

    def times_as_good(self, row, contender, other):
        """Above 1 if the contender is better than the other. The median over the turns, in each of
        which both were measured soon after one another. None where they cannot be compared."""
        if row is None or row.better == "neither":
            return None
        turns = self.ratios(row, contender, other)
        return Spread.of(turns) if turns else None

    def ratios(self, row, contender, other):
        """The ratio in each turn that has one."""
        mine, its = (self._values[row].get(one, []) for one in (contender, other))
        turns = [ratio(row, *pair) for pair in zip(mine, its) if None not in pair]
        return [one for one in turns if one is not None]

    def values(self, row, contender):
        """The values of the turns that have one."""
        values = self._values.get(row, {}).get(contender, [])
        return [value for value in values if value is not None]


def ratio(row, mine, its):
    """How many times as good one is as the other; infinite where the other did nothing."""
    if row.better == "less":
        mine, its = its, mine
    if its > 0:
        return mine / its
    return math.inf if mine > 0 else None


def text(value):
    """A number with three significant digits."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e6:
        # 999.6 M are 1 G: three digits would have them as 1e+03 M.
        return f"{value / 1e6:.3g} M" if size < 999.5e6 else f"{value / 1e9:.3g} G"
    if size >= 100 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"

# SPDX-License-Identifier: Apache-2.0
"""A figure of the report: its source, its claim, its plots, and the judge of the claim."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    title: str  # with its unit
    log: bool = False


@dataclass(frozen=True)
class Panel:
    """A plot: the rows of a table as a line for each contender, or one row as a bar for each."""

    table: str
    y: Axis
    x: Axis | None = None  # None: bars
    title: str = ""  # default: the table's name
    rows: tuple = ()  # names of rows; default: all of the table
    contenders: tuple = ()  # default: all
    place: Callable = None  # the x of a row that has none, by its name
    benchmark: str = ""  # default: the figure's first

    @property
    def kind(self):
        return "bars" if self.x is None else "lines"

    def chosen_rows(self, samples):
        return [row for row in samples.rows(self.table) if not self.rows or row.name in self.rows]

    def chosen_contenders(self, samples):
        there = samples.contenders(self.chosen_rows(samples))
        return [name for name in there if not self.contenders or name in self.contenders]

    def x_of(self, row):
        return self.place(row.name) if self.place and row.x is None else row.x


def bars(table, y, titles, **more):
    """A panel of bars for each row; `titles` by row."""
    return tuple(Panel(table, y, title=title, rows=(row,), **more) for row, title in titles.items())


def curves(tables, y, x, **more):
    """A panel of lines for each table: names, or titles by table."""
    titles = tables if isinstance(tables, dict) else dict.fromkeys(tables, "")
    return tuple(Panel(table, y, x, title=title, **more) for table, title in titles.items())


def elsewhere(paper, name, label, title, claim, reason):
    """A figure that cannot be measured here."""
    return Figure(f"{paper.lower()}-{name}", paper, label, title, claim, "", elsewhere=reason)


@dataclass(frozen=True)
class Contest:
    """A contender of ours with its rivals, for the summary."""

    ours: str
    rivals: Callable  # whether the contender of that name is a rival


@dataclass(frozen=True)
class Figure:
    id: str
    paper: str  # FCP, BRAVO, RCU, or Readmost
    label: str  # as the paper has it: "Figure 4a"
    title: str
    claim: str  # of the paper, in a sentence
    shows: str  # what the plots show and how that differs from the paper's
    panels: tuple = ()
    benchmarks: tuple = ()
    judge: Callable = None  # findings -> Verdict
    contests: tuple = ()
    elsewhere: str = ""  # why it cannot be measured here
    judged_with: tuple = ()  # benchmarks of other figures that the judge reads too

    @property
    def source(self):
        """The paper's figure, or the title of our own."""
        return f"{self.paper} {self.label}" if self.label else self.title

    @property
    def detail(self):
        """The title beside the source."""
        return self.title if self.label else ""

    def benchmark_of(self, panel):
        return panel.benchmark or self.benchmarks[0]

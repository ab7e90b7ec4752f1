"""A figure of the report: where it comes from, what it claims, what is drawn, who judges."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    title: str  # with its unit
    log: bool = False


@dataclass(frozen=True)
class Panel:
    """One plot: the rows of a table as a line for each contender, or one row as a bar for each."""

    table: str
    y: Axis
    x: Axis | None = None  # without it, bars
    title: str = ""  # without it, the table's name
    rows: tuple = ()  # names of rows; without it, all of the table
    contenders: tuple = ()  # without it, all
    place: Callable = None  # the x of a row whose program tells none, by its name
    benchmark: str = ""  # without it, the figure's first

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


@dataclass(frozen=True)
class Contest:
    """Who of us is compared with whom, for the summary."""

    ours: str
    rivals: Callable  # by name: whether it is a rival with the same semantics


@dataclass(frozen=True)
class Figure:
    id: str
    paper: str  # FCP, BRAVO, RCU, or Readmost
    label: str  # as the paper has it: "Figure 4a"
    title: str
    claim: str  # what the paper says it shows, in a sentence
    shows: str  # what is drawn here, and how it differs from the paper's
    panels: tuple = ()
    benchmarks: tuple = ()
    judge: Callable = None  # findings -> Verdict
    contests: tuple = ()
    elsewhere: str = ""  # why it cannot be measured here at all

    @property
    def source(self):
        """The paper's figure; of our own, the title."""
        return f"{self.paper} {self.label}" if self.label else self.title

    @property
    def detail(self):
        """What is to be said beside the source."""
        return self.title if self.label else ""

    def benchmark_of(self, panel):
        return panel.benchmark or self.benchmarks[0]

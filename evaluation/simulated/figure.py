# SPDX-License-Identifier: Apache-2.0
"""A simulated figure: the runs of `readmost simulate`, its panels, and what was measured here beside it."""

from collections.abc import Callable
from dataclasses import dataclass

from ..figures.figure import Axis

# The simulation's names of locks that benchmarks call otherwise. glibc's own lock cannot be simulated;
# one of its shape stands for it.
CALLED = {
    "readmost": "prwlock",
    "glibc-like": "pthread",
    "bravo-glibc": "bravo-pthread",
    "bravo-glibc-paper": "bravo-pthread-paper",
}


@dataclass(frozen=True)
class Run:
    """One call of the program for each seed: a workload with some locks and numbers of threads."""

    workload: str
    locks: tuple = ()  # the simulation's names; none for a workload that uses no lock
    threads: tuple = (1,)
    options: tuple = ()  # further words
    x: float | None = None  # the place of its points, if that is not the number of threads
    warm_up: int = 400  # simulated microseconds
    time: int = 400
    called: str = ""  # the contender of a workload without locks
    seconds: float = 1  # about how long a call takes on two CPUs
    tables: tuple = ()  # of the figure's panels; default: all
    # What one thread does stands for so many that do not disturb each other: the ideal.
    copies: tuple = ()

    def words(self, machine, seed, threads, quick):
        locks = ("--locks", ",".join(self.locks)) if self.locks else ()
        warm_up, time = (min(self.warm_up, 50), min(self.time, 50)) if quick else (self.warm_up, self.time)
        return [
            "--machine", machine, "--workload", self.workload, *locks,
            "--threads", ",".join(map(str, threads)), *self.options,
            "--warm-up", f"{warm_up}000", "--time", f"{time}000", "--seed", str(seed),
        ]


@dataclass(frozen=True)
class Measured:
    """The rows of a benchmark that stand beside a panel."""

    benchmark: str
    table: str
    place: Callable = lambda row: row.x  # the row's x in the panel; None: leave it out
    contenders: tuple = ()  # default: those that are simulated
    transposed: bool = False  # the panel's x is the benchmark's value, and the other way round
    times: float = 1  # from the benchmark's unit of the panel's value to the panel's
    is_relative: bool = False  # to what the panel is relative to


@dataclass(frozen=True)
class Panel:
    table: str
    y: Axis
    x: Axis
    # The points of a run: ((x, value), ...) from its result and its place; the value is None if
    # there was nothing to count.
    points: Callable
    better: str = "more"
    unit: str = "per second"
    title: str = ""
    measured: tuple = ()
    relative_to: str = ""  # a contender: the values are shares of its


@dataclass(frozen=True)
class Simulated:
    id: str  # that of the figure in the first part of the report
    paper: str
    label: str
    title: str
    machine: str
    shows: str  # what is simulated, and how that differs from the paper's
    panels: tuple = ()
    runs: tuple = ()
    contours: bool = False  # computed by `readmost advise --contours`, not simulated
    why: str = ""  # why there is nothing to simulate

    @property
    def source(self):
        return f"{self.paper} {self.label}"

    @property
    def name(self):
        """For `readmost bench`."""
        return f"simulated-{self.id}"


# --- Points of a run ---


def per_second(*kinds):
    def points(result, x):
        return ((x, sum(result[kind]["count"] for kind in kinds) / result["nanoseconds"] * 1e9),)

    return points


def cycles(kind, share):
    return lambda result, x: ((x, result[kind].get(share)),)


def distribution(kind):
    """Shares of the latencies in percent, and how long they took at most."""
    shares = {"p10": 10, "p50": 50, "p90": 90, "p99": 99, "max": 100}
    return lambda result, x: tuple((share, result[kind].get(name)) for name, share in shares.items())

# SPDX-License-Identifier: Apache-2.0
"""Compares ours, point by point, with the best rival with the same semantics, and each program with
what it has without ours."""

from dataclasses import dataclass

from . import figures, machine
from .contenders import REPLACED
from .figures.judging import FAILS, HOLDS, IN_PART, spread_text
from .figures.programs import PROGRAM_BENCHMARKS, program_of
from .results import samples_of
from .samples import Spread

EVEN = 0.05
NAMED = 3  # slower programs in the sentence; the table has all
PLURALS = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold"}
COUNTED = ("threads", "readers", "sleepers")  # titles of axes that read well behind a number


@dataclass(frozen=True)
class Point:
    """One comparison of ours with a rival."""

    figure: object
    ours: str
    rival: str
    row: object
    times: Spread  # as good as the rival
    axis: str = ""  # the title of the axis that the row is a place of

    @property
    def outcome(self):
        if self.times.median > 1 + EVEN:
            return "won"
        return "even" if self.times.median >= 1 - EVEN else "lost"

    @property
    def place(self):
        """'8 threads'."""
        if self.row.x is None:
            return self.row.name
        if self.axis not in COUNTED:
            return f"{self.row.x:g}"
        return f"{self.row.x:g} {self.axis[:-1] if self.row.x == 1 else self.axis}"


class Compared:
    """What has points: the best and the worst of the same thing stand beside each other."""

    points: tuple

    def count(self, outcome):
        return sum(point.outcome == outcome for point in self.points)

    @property
    def worst(self):
        return min(self.points, key=lambda point: point.times.median)

    @property
    def best(self):
        return max(self.points, key=lambda point: point.times.median)


@dataclass(frozen=True)
class Line(Compared):
    """A line of the summary: a figure and a contender of ours."""

    figure: object
    ours: str
    points: tuple
    replaced: tuple = ()  # points beside the contender that ours replaces

    @property
    def worst_of_replaced(self):
        return min(self.replaced, key=lambda point: point.times.median, default=None)


@dataclass(frozen=True)
class Program(Compared):
    """An unchanged program with our lock preloaded, beside the same program without."""

    name: str
    points: tuple

    @property
    def figure(self):
        return self.points[0].figure

    def where(self, point):
        """' at 8 threads'; nothing for a program that is one row, which its name tells."""
        return "" if point.row.x is None else f" at {point.place}"


def best_rival(samples, row, rivals):
    """The rival with the best median in the row; None if there is none."""
    known = [(samples.median(row, name), name) for name in rivals]
    known = [one for one in known if one[0] is not None]
    if not known:
        return None
    return (min if row.better == "less" else max)(known)[1]


def what_is_replaced_by(ours):
    """A choice for points_of: the contender that ours replaces, if it is among the rivals."""
    replaced = REPLACED.get(ours)
    return lambda samples, row, rivals: replaced if replaced in rivals else None


def points_of(figure, contest, results, choose=best_rival):
    """Compares ours with the rival that choose(samples, row, rivals) returns."""
    for panel in figure.panels:
        samples = samples_of(results, figure.benchmark_of(panel))
        if samples is None:
            continue
        rows = panel.chosen_rows(samples)
        rivals = [name for name in samples.contenders(rows) if contest.rivals(name)]
        for row in rows:
            if row.better == "neither" or samples.median(row, contest.ours) is None:
                continue
            rival = choose(samples, row, rivals)
            times = rival and samples.times_as_good(row, contest.ours, rival)
            if times:
                axis = panel.x.title if panel.x else ""
                yield Point(figure, contest.ours, rival, row, times, axis)


def lines(results, of=figures.MEASURED):
    found = []
    for figure in of:
        for contest in figure.contests:
            points = tuple(points_of(figure, contest, results))
            if points:
                choose = what_is_replaced_by(contest.ours)
                replaced = tuple(points_of(figure, contest, results, choose))
                found.append(Line(figure, contest.ours, points, replaced))
    return found


def programs(results, of=figures.MEASURED):
    """Every program that was measured, the one with the greatest loss first."""
    found = {}
    for figure in of:
        if figure.benchmarks and set(figure.benchmarks) <= set(PROGRAM_BENCHMARKS):
            for contest in figure.contests:
                choose = what_is_replaced_by(contest.ours)
                for point in points_of(figure, contest, results, choose):
                    found.setdefault(program_of(point.row), []).append(point)
    made = [Program(name, tuple(points)) for name, points in found.items()]
    return sorted(made, key=lambda one: one.worst.times.median)


def losses(found):
    """All lost points, the worst first."""
    lost = [point for line in found for point in line.points if point.outcome == "lost"]
    return sorted(lost, key=lambda point: point.times.median)


def grouped(points):
    """By figure and by (ours, table): {figure's id: (figure, {(ours, table): points})}, in their order."""
    found = {}
    for point in points:
        _, tables = found.setdefault(point.figure.id, (point.figure, {}))
        tables.setdefault((point.ours, point.row.table), []).append(point)
    return found


# --- In sentences ---


def of_programs(found):
    """How many programs gain and lose; every loss is named. Empty without programs."""
    if not found:
        return ""
    won, even, lost = _counts(found)
    told = (
        f"{machine.count(len(found), 'program')} at {machine.count(won + even + lost, 'point')}: beside"
        f" glibc's lock faster at {won}, within {EVEN:.0%} at {even}, slower at {lost}."
    )
    slower = [one for one in found if one.worst.outcome == "lost"]
    if not slower:
        return f"{told} No program is slower at any point."
    named = "; ".join(
        f"{one.name} with {spread_text(one.worst.times)}{one.where(one.worst)}" for one in slower[:NAMED]
    )
    more = f"; and {len(slower) - NAMED} more" if len(slower) > NAMED else ""
    return f"{told} Slower somewhere: {named}{more}."


def of_lines(found):
    """How many points are won and lost beside the best rivals. Empty without any."""
    if not found:
        return ""
    won, even, lost = _counts(found)
    return (
        f"{machine.count(won + even + lost, 'point')} beside the best rival with the same semantics:"
        f" {won} won, {even} even, {lost} lost."
    )


def of_claims(kinds):
    """How many claims hold, by kind of verdict and number."""
    tested = {kind: kinds[kind] for kind in (HOLDS, IN_PART, FAILS) if kinds[kind]}
    if not tested:
        return ""
    parts = ", ".join(
        f"{number} {kind if number == 1 else PLURALS[kind]}" for kind, number in tested.items()
    )
    return f"{machine.count(sum(tested.values()), 'claim')} tested: {parts}."


def _counts(found):
    return tuple(sum(one.count(outcome) for one in found) for outcome in ("won", "even", "lost"))

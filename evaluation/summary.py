"""Compares ours with the best rival with the same semantics, point by point."""

from dataclasses import dataclass

from . import figures
from .contenders import REPLACED
from .results import samples_of
from .samples import Spread

EVEN = 0.05


@dataclass(frozen=True)
class Point:
    """One comparison of ours with a rival."""

    figure: object
    ours: str
    rival: str
    row: object
    times: Spread  # as good as the rival

    @property
    def outcome(self):
        if self.times.median > 1 + EVEN:
            return "won"
        return "even" if self.times.median >= 1 - EVEN else "lost"


@dataclass(frozen=True)
class Line:
    """A line of the summary: a figure and a contender of ours."""

    figure: object
    ours: str
    points: tuple
    replaced: tuple = ()  # points beside the contender that ours replaces

    @property
    def worst_of_replaced(self):
        return min(self.replaced, key=lambda point: point.times.median, default=None)

    def count(self, outcome):
        return sum(point.outcome == outcome for point in self.points)

    @property
    def worst(self):
        return min(self.points, key=lambda point: point.times.median)

    @property
    def best(self):
        return max(self.points, key=lambda point: point.times.median)


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
                yield Point(figure, contest.ours, rival, row, times)


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


def losses(found):
    """All lost points, the worst first."""
    lost = [point for line in found for point in line.points if point.outcome == "lost"]
    return sorted(lost, key=lambda point: point.times.median)

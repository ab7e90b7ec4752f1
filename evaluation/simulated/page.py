# SPDX-License-Identifier: Apache-2.0
"""The part "On machines you do not have" of the report."""

from dataclasses import dataclass

from .. import machine, plots
from ..contenders import MEASURED, PRINTED, SIMULATED, canonical, label, style, style_of_kind
from ..figures.judging import times_text
from ..results import samples_of
from ..samples import Samples, Spread, text
from . import figures, judging, published


@dataclass(frozen=True)
class Shown:
    """A simulated figure on the page."""

    figure: object
    source: str  # of what the paper prints
    verdict: judging.Verdict
    missing: str  # why there is nothing to show
    plots: list  # (title, svg)
    legend: list  # of contenders: (name, svg)
    kinds: list  # the same of the lines
    tables: list
    how: list
    problems: list


@dataclass(frozen=True)
class Part:
    is_there: bool  # whether anything was simulated
    shown: list
    counts: dict  # by kind of verdict
    numbers: list  # (figure, compared)
    near: int  # of the numbers


def simulated_samples(results, figure):
    found = results.get("simulated", {}).get(figure.id)
    return Samples(found["rows"]) if found and found["rows"] else None


def verdict_of(figure, results):
    return judging.judged(simulated_samples(results, figure), published.of(figure))


def part(results):
    shown = [_shown(figure, results) for figure in figures.ALL]
    numbers = [(page.figure, one) for page in shown for one in page.verdict.numbers]
    kinds = {kind: sum(page.verdict.kind == kind for page in shown) for kind in judging.KINDS}
    return Part(bool(results.get("simulated")), shown, kinds, numbers, sum(one.is_near for _, one in numbers))


def why_missing(figure, samples, failures):
    if figure.why:
        return figure.why
    if failures:
        return f"It failed: {failures[0]['reason']}"
    if samples is None:
        return f"Not there: 'readmost bench {figure.name}' makes it."
    return ""


def _shown(figure, results):
    samples = simulated_samples(results, figure)
    printed = published.of(figure)
    verdict = verdict_of(figure, results)
    found = results.get("simulated", {}).get(figure.id, {})
    failures = found.get("failures", [])
    missing = "" if samples else why_missing(figure, samples, failures)
    if missing:
        return Shown(figure, printed["source"], verdict, missing, [], [], [], [], [], [])
    lines = [(panel, lines_of(panel, samples, printed["numbers"], results)) for panel in figure.panels]
    lines = [(panel, its) for panel, its in lines if its]
    return Shown(
        figure, printed["source"], verdict, "",
        [(panel.title or panel.table, plots.kinds_svg(panel, its)) for panel, its in lines],
        *_legends([line for _, its in lines for line in its]),
        [_table(panel, its) for panel, its in lines],
        _how(found),
        [f"{one['contender']} failed: {one['reason']}" for one in failures],
    )


def lines_of(panel, samples, numbers, results):
    """(contender, kind, [(x, spread)]), ours last, what is printed on top."""
    rows = samples.rows(panel.table)
    there = samples.contenders(rows)
    there = [name for name in there if name != panel.relative_to] or there
    there.sort(key=lambda name: style(name).thick)
    lines = []
    for name in there:
        points = [(row.x, spread) for row in rows if (spread := samples.spread(row, name))]
        if points:
            lines.append((name, SIMULATED, points))
    for measured in panel.measured:
        found = samples_of(results, measured.benchmark)
        if found:
            lines += measured_lines(panel, measured, found, there)
    for name in there:
        points = [
            (one["x"], Spread.of([one["value"]]))
            for one in numbers
            if one["table"] == panel.table and one["contender"] == name
        ]
        if points:
            lines.append((name, PRINTED, points))
    return lines


def measured_lines(panel, measured, found, simulated):
    rows = found.rows(measured.table)
    wanted = {canonical(name) for name in measured.contenders or simulated}
    known = [name for name in found.contenders(rows) if canonical(name) in wanted]
    for name in known:
        points = []
        for row in rows:
            if measured.is_relative:
                spread = found.times_as_good(row, name, panel.relative_to)
            else:
                spread = found.spread(row, name)
            if measured.transposed:
                x, spread = spread and spread.median, Spread.of([row.x])
            else:
                x = measured.place(row)
            if spread and x is not None and name != panel.relative_to:
                times = measured.times
                points.append((x, Spread(*(times * v for v in (spread.median, spread.lowest, spread.highest)))))
        if points:
            yield canonical(name), MEASURED, points


def _legends(lines):
    """Of the contenders, and of the kinds of lines."""
    names = list(dict.fromkeys(canonical(name) for name, *_ in lines))
    names.sort(key=lambda name: not style_of_kind(name, SIMULATED).thick)
    kinds = [kind for kind in (SIMULATED, MEASURED, PRINTED) if any(kind == one for _, one, _ in lines)]
    return (
        [(label(name), plots.swatch_svg(name, SIMULATED)) for name in names],
        [(kind, plots.swatch_svg("pthread", kind)) for kind in kinds],
    )


def _table(panel, lines):
    places = sorted({x for *_, points in lines for x, _ in points})
    return {
        "title": panel.title or panel.table,
        "corner": panel.x.title,
        "unit": panel.unit,
        "head": [f"{x:,.4g}" if x < 1e4 else text(x) for x in places],
        "body": [
            (
                label(name) if kind == SIMULATED else f"{label(name)}, {kind}",
                style(name).thick and kind == SIMULATED,
                [_cell(dict(points).get(x)) for x in places],
            )
            for name, kind, points in lines
        ],
    }


def _cell(spread):
    if spread is None:
        return None
    ends = f"{text(spread.lowest)} to {text(spread.highest)}"
    return text(spread.median), ends if spread.lowest < spread.highest else ""


def _how(found):
    what = f"{machine.count(found['seeds'], 'seed')}, {found['simulated'][:10]}"
    quick = "; quick: a short time of few threads, whose figures mean little" if found["quick"] else ""
    return [*found["commands"], f"{what}{quick}"]


def printed_text(value):
    return f"{value:,.10g}"


def simulated_text(one):
    if one.simulated is None:
        return "none"
    median, lowest, highest = map(text, (one.simulated.median, one.simulated.lowest, one.simulated.highest))
    return median if lowest == highest else f"{median} ({lowest} to {highest})"


FILTERS = {
    "printed": printed_text, "simulated": simulated_text, "factor": judging.factor_text, "times": times_text,
}

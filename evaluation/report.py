"""Results as one HTML page that needs nothing else."""

import datetime
import re
from dataclasses import dataclass
from pathlib import Path

import jinja2
import markupsafe

from . import figures, machine, plots, results as store, summary
from .contenders import canonical, label, style
from .figures import judging
from .samples import text

TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Shown:
    """A figure as the page has it."""

    figure: object
    verdict: judging.Verdict
    plots: list  # (title, svg)
    legend: list  # contenders
    tables: list
    measured: list  # a sentence for each benchmark
    problems: list


def verdict_of(figure, results):
    by_benchmark = {name: store.samples_of(results, name) for name in figure.benchmarks}
    return judging.judged(figure, judging.Findings(by_benchmark, results["machine"]))


def shown(figure, results):
    drawn, tables, contenders = [], [], []
    for number, panel in enumerate(figure.panels):
        samples = store.samples_of(results, figure.benchmark_of(panel))
        if samples is None or not panel.chosen_rows(samples):
            continue
        svg = plots.panel_svg(panel, samples, f"{figure.id}-{number}")
        drawn.append((panel.title or panel.table, svg))
        tables.append(_table(panel, samples))
        if panel.kind == "lines":
            known = set(map(canonical, contenders))
            new = panel.chosen_contenders(samples)
            contenders += [name for name in new if canonical(name) not in known]
    contenders.sort(key=lambda name: not style(name).thick)
    legend = [
        (label(name), plots.swatch_svg(name, f"{figure.id}-key-{number}"))
        for number, name in enumerate(contenders)
    ]
    all_of_it = results["benchmarks"]
    of = {name: all_of_it[name] for name in figure.benchmarks if name in all_of_it}
    measured = [_how(name, one) for name, one in of.items()]
    problems = [
        f"{label(problem['contender'])} failed: {problem['reason']}"
        for one in of.values()
        for problem in one["failures"]
    ]
    verdict = verdict_of(figure, results)
    return Shown(figure, verdict, drawn, legend, tables, measured, problems)


def prose(words):
    """Names between backticks as code."""
    parts = re.split("`([^`]*)`", words)
    return markupsafe.Markup("").join(
        markupsafe.Markup("<code>{}</code>").format(part) if number % 2 else part
        for number, part in enumerate(parts)
    )


def _table(panel, samples):
    """Contenders down, places across."""
    rows = panel.chosen_rows(samples)
    head = [f"{panel.x_of(row):g}" if panel.kind == "lines" else row.name for row in rows]
    return {
        "title": panel.title or panel.table,
        "corner": panel.x.title if panel.x else "",
        "unit": ", ".join(dict.fromkeys(row.unit for row in rows)),
        "head": head,
        "body": [
            (
                label(contender), style(contender).thick,
                [_cell(samples.spread(row, contender)) for row in rows],
            )
            for contender in samples.contenders(rows)
        ],
    }


def _cell(spread):
    """(median, lowest to highest), the latter only where there is one; None for no value."""
    if spread is None:
        return None
    ends = f"{text(spread.lowest)} to {text(spread.highest)}"
    return text(spread.median), ends if spread.lowest < spread.highest else ""


def _how(name, one):
    turns = machine.count(one["turns"], "turn")
    kind = " (quick: one short turn, which measures little)" if one["quick"] else ""
    ended = ", interrupted" if one.get("interrupted") else ""
    command = " ".join([name, *one["options"]])
    return f"{command}: {turns} of each contender{kind}{ended}, {one['measured']}"


def builds(results):
    """How the library was built, each way once."""
    told = []
    for one in results["benchmarks"].values():
        build = one["build"]
        commit = f"commit {build['commit']}" if "commit" in build else ""
        words = (f"Readmost {build['version']}", commit, build.get("compiler"), build.get("type"))
        told.append(", ".join(filter(None, words)))
    return list(dict.fromkeys(told))


def dates(results):
    days = sorted(one["measured"][:10] for one in results["benchmarks"].values())
    if not days:
        return ""
    return days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"


def html(results, of=figures.ALL):
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined,
        autoescape=True, trim_blocks=True, lstrip_blocks=True,
    )
    environment.filters["times"] = judging.times_text
    environment.filters["prose"] = prose
    pages = [shown(figure, results) for figure in of]
    counts = {kind: sum(page.verdict.kind == kind for page in pages) for kind in judging.KINDS}
    lines = summary.lines(results, of)
    return environment.get_template("report.html.j2").render(
        pages=pages,
        papers=figures.PAPERS,
        counts=counts,
        lines=lines,
        losses=summary.losses(lines),
        machine=machine.sentence(results["machine"]),
        facts=results["machine"],
        builds=builds(results),
        dates=dates(results),
        quick=any(one["quick"] for one in results["benchmarks"].values()),
        label=label,
        made=datetime.date.today().isoformat(),
        even=summary.EVEN,
    )

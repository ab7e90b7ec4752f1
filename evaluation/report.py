# SPDX-License-Identifier: Apache-2.0
"""Results as one self-contained HTML page, and the plot of the main result."""

import datetime
import functools
import re
from dataclasses import dataclass
from pathlib import Path

import jinja2
import markupsafe

from . import figures, kernel, machine, plots, results as store, summary
from .contenders import canonical, label, style
from .failure import Failure
from .figures import judging, own
from .samples import text
from .simulated import page as simulated_page

TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Shown:
    """A figure on the page."""

    figure: object
    verdict: judging.Verdict
    plots: list  # (title, svg)
    legend: list  # contenders
    tables: list
    measured: list  # a sentence for each benchmark
    problems: list


def verdict_of(figure, results):
    read = (*figure.benchmarks, *figure.judged_with)
    by_benchmark = {name: store.samples_of(results, name) for name in read}
    return judging.judged(figure, judging.Findings(by_benchmark, results["machine"]))


def shown(figure, results):
    drawn, tabled, contenders = [], {}, []
    for panel in figure.panels:
        samples = store.samples_of(results, figure.benchmark_of(panel))
        if samples is None or not panel.chosen_rows(samples):
            continue
        drawn.append((panel.title or panel.table, plots.panel_svg(panel, samples)))
        tabled.setdefault(_table_of(figure, panel, samples), []).append(panel)
        if panel.kind == "lines":
            known = set(map(canonical, contenders))
            new = panel.chosen_contenders(samples)
            contenders += [name for name in new if canonical(name) not in known]
    contenders.sort(key=lambda name: not style(name).thick)
    legend = [(label(name), plots.swatch_svg(name)) for name in contenders]
    all_of_it = results["benchmarks"]
    of = {name: all_of_it[name] for name in figure.benchmarks if name in all_of_it}
    measured = [_how(name, one) for name, one in of.items()]
    problems = [
        f"{label(problem['contender'])} failed: {problem['reason']}"
        for one in of.values()
        for problem in one["failures"]
    ]
    tables = [
        _table(panels, store.samples_of(results, figure.benchmark_of(panels[0])))
        for panels in tabled.values()
    ]
    verdict = verdict_of(figure, results)
    return Shown(figure, verdict, drawn, legend, tables, measured, problems)


def prose(words):
    """Marks names between backticks as code."""
    parts = re.split("`([^`]*)`", words)
    return markupsafe.Markup("").join(
        markupsafe.Markup("<code>{}</code>").format(part) if number % 2 else part
        for number, part in enumerate(parts)
    )


def _table_of(figure, panel, samples):
    """Panels with the same of this share a table: the bars for rows of one table in one unit."""
    if panel.kind == "lines":
        return panel
    units = tuple(dict.fromkeys(row.unit for row in panel.chosen_rows(samples)))
    return figure.benchmark_of(panel), panel.table, units


def _table(panels, samples):
    """A line for each contender, a column for each place."""
    panel, *others = panels
    rows = [row for one in panels for row in one.chosen_rows(samples)]
    head = [f"{panel.x_of(row):g}" if panel.kind == "lines" else row.name for row in rows]
    return {
        "title": panel.table if others else panel.title or panel.table,
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
    """(median, lowest to highest); the spread is empty if there is none. None for no value."""
    if spread is None:
        return None
    ends = f"{text(spread.lowest)} to {text(spread.highest)}"
    return text(spread.median), ends if spread.lowest < spread.highest else ""


def _how(name, one):
    turns = machine.count(one["turns"], "turn")
    kind = " (quick: one short turn, whose figures mean little)" if one["quick"] else ""
    ended = ", interrupted" if one.get("interrupted") else ""
    command = " ".join([name, *one["options"]])
    return f"{command}: {turns} of each contender{kind}{ended}, {one['measured']}"


def builds(results):
    """The different builds of the library."""
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


def stylesheet(*names):
    """The style sheets as one, without comments, indentation and line ends."""
    text = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    # A blank before a colon means something in a selector.
    text = re.sub(r":\s+", ":", re.sub(r"\s*([{};,])\s*", r"\1", text))
    return markupsafe.Markup(text.replace(";}", "}").strip())


@functools.cache  # which keeps the templates compiled
def environment():
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined,
        autoescape=True, trim_blocks=True, lstrip_blocks=True,
    )
    made.filters["times"] = judging.times_text
    made.globals["style"] = stylesheet
    made.filters["ends"] = judging.ends_text
    made.filters["prose"] = prose
    made.filters["range"] = plots.range_svg
    made.filters.update(simulated_page.FILTERS)
    return made


def html(results, of=figures.ALL):
    every = [shown(figure, results) for figure in of]
    pages = [page for page in every if page.plots]
    counts = {kind: sum(page.verdict.kind == kind for page in pages) for kind in judging.KINDS}
    programs, lines = summary.programs(results, of), summary.lines(results, of)
    losses = summary.losses(lines)
    answers = (summary.of_programs(programs), summary.of_lines(lines), summary.of_claims(counts))
    simulated = simulated_page.part(results)
    drawn = "".join(svg for page in [*pages, *simulated.shown] for _, svg in [*page.plots, *page.legend])
    drawn += "".join(svg for page in simulated.shown for _, svg in page.kinds)
    styles, markers = plots.definitions(drawn)
    return environment().get_template("report.html.j2").render(
        pages=pages,
        not_measured=[page for page in every if not page.plots and not page.figure.elsewhere],
        elsewhere=[page for page in every if page.figure.elsewhere],
        counted=lambda figure: kernel.tables(figure, results),
        answers=[answer for answer in answers if answer],
        styles=styles,
        markers=markers,
        papers=figures.PAPERS,
        simulated=simulated,
        programs=programs,
        lines=lines,
        losses=losses,
        losses_by_figure=summary.grouped(losses).values(),
        machine=machine.sentence(results["machine"]),
        facts=results["machine"],
        builds=builds(results),
        dates=dates(results),
        quick=any(one["quick"] for one in results["benchmarks"].values()),
        label=label,
        made=datetime.date.today().isoformat(),
        even=summary.EVEN,
    )


def main_result_svg(results):
    """The main result as one SVG of its own: a map under std::shared_mutex, preloaded and not."""
    benchmark = own.MAIN_RESULT_BENCHMARK
    samples = store.samples_of(results, benchmark)
    panels = [one for one in own.MAIN_RESULT if samples and one.chosen_rows(samples)]
    if not panels:
        raise Failure(
            f"the results have nothing of {benchmark}; measure it with 'readmost bench {benchmark}'"
        )
    drawn = [(panel.title, plots.panel_svg(panel, samples)) for panel in panels]
    legend = [(own.MAIN_RESULT_NAMES[name], plots.swatch_svg(name)) for name in panels[0].contenders]
    styles, markers = plots.definitions("".join(svg for _, svg in drawn + legend))
    how = results["benchmarks"][benchmark]
    return environment().get_template("main_result.svg.j2").render(
        drawn=drawn,
        legend=legend,
        styles=styles,
        markers=markers,
        width=plots.WIDTH,
        height=plots.HEIGHT,
        caption=f"{machine.sentence(results['machine'])}, {machine.count(how['turns'], 'turn')},"
        f" {how['measured'][:10]}",
        command=f"readmost bench {benchmark} {' '.join(how['options'])}".strip(),
    )

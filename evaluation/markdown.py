# SPDX-License-Identifier: Apache-2.0
"""The main tables of a report as Markdown, for the documentation."""

from . import figures, kernel, machine, report, summary
from .contenders import label
from .figures import judging

HEAD = """# Results

Written by `readmost report --markdown docs/results.md` from the results of `readmost bench all`. The
page of `readmost report out.html` has every figure; [evaluation.md](evaluation.md) explains the
measurements.
"""


def text(results):
    lines = [
        HEAD,
        f"- Machine: {machine.sentence(results['machine'])}",
        *(f"- Build: {build}" for build in report.builds(results)),
        f"- Measured: {report.dates(results) or 'nothing'}",
        "",
        *result(results),
        "## Figures, beside the best rival",
        "",
        "At each point ours is compared with the best rival with the same semantics there, and in the last"
        " column with what it replaces: pthread's lock, liburcu's default flavor and its table. A ratio"
        " says how many times as good ours is, with the lowest and the highest of the turns. Up to"
        f" {summary.EVEN:.0%} either way is even.",
        "",
        row(
            "Figure", "Ours", "Won", "Even", "Lost", "At worst", "At best",
            "At worst, of what it replaces",
        ),
        "|---|---|--:|--:|--:|---|---|---|",
    ]
    for line in summary.lines(results):
        counts = [str(line.count(outcome)) for outcome in ("won", "even", "lost")]
        replaced = point(line.worst_of_replaced) if line.replaced else ""
        lines.append(
            row(
                name(line.figure), f"`{label(line.ours)}`", *counts, point(line.worst),
                point(line.best), replaced,
            )
        )
    lines += ["", "## Do the papers' claims hold?", ""]
    lines += [row("Figure", "Claim", "Here", "Measured"), "|---|---|---|---|"]
    for figure in figures.ALL:
        verdict = report.verdict_of(figure, results)
        told = "; ".join(check.told for check in verdict.checks)
        counted = kernel.told(figure, results)
        why = " ".join(filter(None, [f"{told}." if told else "", verdict.why, counted]))
        lines.append(row(name(figure), figure.claim, verdict.kind, cell(why)))
    return "\n".join(lines) + "\n"


def result(results):
    """The answers in sentences, and the programs, each with its worst and its best."""
    programs = summary.programs(results)
    verdicts = [report.verdict_of(figure, results).kind for figure in figures.ALL]
    kinds = {kind: verdicts.count(kind) for kind in judging.KINDS}
    compared = summary.of_lines(summary.lines(results))
    answers = (summary.of_programs(programs), compared, summary.of_claims(kinds))
    lines = ["## Result", "", *(f"- {answer}" for answer in answers if answer), ""]
    if programs:
        lines += [
            "## Programs, with Readmost preloaded",
            "",
            "How many times as fast each is as over the lock that it has otherwise, at its worst and at its"
            " best point; the greatest loss first.",
            "",
            row("Program", "At worst", "At best", "Faster", "Even", "Slower"),
            "|---|---|---|--:|--:|--:|",
        ]
        for one in programs:
            ends = (f"{judging.spread_text(of.times)}{one.where(of)}" for of in (one.worst, one.best))
            counts = (str(one.count(outcome)) for outcome in ("won", "even", "lost"))
            lines.append(row(one.name, *ends, *counts))
        lines.append("")
    return lines


def row(*cells):
    return f"| {' | '.join(cells)} |"


def name(figure):
    return ": ".join(filter(None, [figure.source, figure.detail]))


def point(of):
    return cell(f"{judging.spread_text(of.times)} of `{label(of.rival)}` ({of.row.table}, {of.place})")


def cell(words):
    return words.replace("|", "\\|")

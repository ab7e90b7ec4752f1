"""The main tables of a report as Markdown, for the documentation."""

from . import figures, machine, report, summary
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
        "## Summary",
        "",
        "Each point compares ours with the best rival with the same semantics there; the ratio says"
        " how many times as good ours is, with the lowest and the highest of the turns. Up to"
        f" {summary.EVEN:.0%} either way counts as even. The last column compares ours with what it"
        " replaces: pthread's lock, liburcu's default flavor and its table.",
        "",
        row(
            "Figure", "Ours", "Won", "Even", "Lost", "At best", "At worst",
            "At worst, of what it replaces",
        ),
        "|---|---|--:|--:|--:|---|---|---|",
    ]
    for line in summary.lines(results):
        counts = [str(line.count(outcome)) for outcome in ("won", "even", "lost")]
        replaced = point(line.worst_of_replaced) if line.replaced else ""
        lines.append(
            row(
                name(line.figure), f"`{label(line.ours)}`", *counts, point(line.best),
                point(line.worst), replaced,
            )
        )
    lines += ["", "## Do the papers' claims hold?", ""]
    lines += [row("Figure", "Claim", "Here", "Measured"), "|---|---|---|---|"]
    for figure in figures.ALL:
        verdict = report.verdict_of(figure, results)
        told = "; ".join(check.told for check in verdict.checks)
        why = " ".join(filter(None, [f"{told}." if told else "", verdict.why]))
        lines.append(row(name(figure), figure.claim, verdict.kind, cell(why)))
    return "\n".join(lines) + "\n"


def row(*cells):
    return f"| {' | '.join(cells)} |"


def name(figure):
    return ": ".join(filter(None, [figure.source, figure.detail]))


def point(of):
    place = of.row.name if of.row.x is None else f"{of.row.x:g}"
    return cell(f"{judging.spread_text(of.times)} of `{label(of.rival)}` ({of.row.table}, {place})")


def cell(words):
    return words.replace("|", "\\|")

# SPDX-License-Identifier: Apache-2.0
"""The verdicts on the simulated figures as Markdown, for the documentation."""

from .. import machine
from ..markdown import cell, row
from . import judging, page

HEAD = """# The papers' figures on simulated machines

Written by `readmost report --simulated-markdown docs/generated/simulated-figures.md` from the results of
`readmost bench simulated`. Everything here is simulated; [scaling.md](../scaling.md) says how, and
[evaluation.md](../evaluation.md) how the verdicts come about. The page of `readmost report out.html` has the plots.
"""


def not_as_printed(verdict):
    for order in verdict.orders:
        if order.agree < order.count:
            yield f"{'Open' if order.is_open else 'Otherwise'}: {order.check.told}."


def text(results):
    part = page.part(results)
    counts = (f"{count} {kind}" for kind, count in part.counts.items() if count)
    lines = [
        HEAD,
        f"- Figures: {', '.join(counts)}",
        f"- Numbers that a paper prints: {part.near} of {len(part.numbers)} within a factor of {judging.WITHIN}",
        "",
        row("Figure", "Machine", "Agrees with the paper?", "Compared"),
        "|---|---|---|---|",
    ]
    for shown in part.shown:
        told = shown.missing or " ".join([shown.verdict.line, *not_as_printed(shown.verdict)])
        name = f"{shown.figure.source}: {shown.figure.title}"
        lines.append(row(name, f"`{shown.figure.machine}`", shown.verdict.kind, cell(told)))
    seeds = {found["seeds"] for found in results.get("simulated", {}).values()}
    if len(seeds) == 1:
        lines += ["", f"Medians of {machine.count(seeds.pop(), 'seed')}; an order that they do not agree on is open."]
    return "\n".join(lines) + "\n"

# SPDX-License-Identifier: Apache-2.0
"""The tables that `readmost bench --tables` prints."""

import textwrap

from .contenders import PRWLOCK, REPLACED, canonical, is_ours
from .samples import text
from .summary import EVEN

HEAD = (
    "Each figure is the median of the turns (lowest to highest). 'of X': how many times as good as X,"
    " often glibc's lock, the contender of the line is. 'Readmost': how many times as good as the"
    " contender Readmost's is. Above 1 is better, below 1 is worse."
)
CLOCK_STEP = 10  # ns: smaller differences of a latency are those of the clock
COLUMNS = 96


def wrapped(words, indent=""):
    return textwrap.fill(
        words, width=COLUMNS, initial_indent=indent, subsequent_indent=2 * indent,
        break_on_hyphens=False,
    )


def ours_in(contenders):
    """The contender of ours that replaces another one, with that other; else any of our locks."""
    for name in contenders:
        if name in REPLACED:
            return name, REPLACED[name]
    return next(((name, REPLACED[PRWLOCK]) for name in contenders if is_ours(name)), (None, None))


def benchmark_text(samples, reference=""):
    """The tables of one benchmark."""
    return "\n".join(table_text(samples, table, reference) for table in samples.tables())


def table_text(samples, table, reference=""):
    rows = samples.rows(table)
    contenders = samples.contenders(rows)
    ours, replaced = ours_in(contenders)
    reference = reference or replaced
    lines = _by_contender if len(contenders) > len(rows) else _by_row
    return f"{table}\n{aligned(lines(samples, rows, contenders, ours, reference))}\n"


def _by_contender(samples, rows, contenders, ours, reference):
    columns = [["", *contenders]]
    for row in rows:
        columns.append([
            f"{row.name}, {row.unit}",
            *(spread_text(samples.spread(row, name)) for name in contenders),
        ])
        for head, pairs in (
            (f"of {reference}", [(name, reference) for name in contenders]),
            ("Readmost", [(ours, name) for name in contenders]),
        ):
            ratios = [ratio_text(samples, row, *pair) for pair in pairs]
            if any(ratios):
                columns.append([head, *ratios])
    return list(zip(*columns))


def _by_row(samples, rows, contenders, ours, reference):
    lines = [["", *contenders, f"{ours} of {reference}" if ours else ""]]
    for row in rows:
        values = [samples.spread(row, name) for name in contenders]
        shown = [
            spread_text(value) if len(contenders) <= 3 or value is None else text(value.median)
            for value in values
        ]
        lines.append([f"{row.name}, {row.unit}", *shown, ratio_text(samples, row, ours, reference)])
    return lines


def aligned(lines):
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  " + "   ".join([
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:])),
        ]).rstrip()
        for line in lines
    )


def spread_text(spread):
    if spread is None:
        return "-"
    median, lowest, highest = map(text, (spread.median, spread.lowest, spread.highest))
    return median if lowest == highest else f"{median} ({lowest} to {highest})"


def ratio_text(samples, row, contender, other):
    times = samples.times_as_good(row, contender, other)
    return "" if times is None or contender == other else f"{times.median:.2f}"


def verdict(of_benchmarks):
    """Where ours are behind others, in all of the samples."""
    compared = [each for samples in of_benchmarks for each in _comparisons(samples)]
    if not compared:
        return "Nothing of Readmost's was compared with anything else.\n"
    behind = [line for each in compared for line in _losses(*each)]
    if not behind:
        return "Readmost is nowhere behind.\n"
    return "Where Readmost is behind:\n" + "".join(f"{wrapped(line, '  ')}\n" for line in behind)


def _comparisons(samples):
    """Each row in which ours stand beside others, with both."""
    for row in samples.rows():
        contenders = samples.contenders([row])
        ours, _ = ours_in(contenders)
        others = [name for name in contenders if not is_ours(name) and name != "ideal"]
        if ours and others:
            yield samples, row, ours, others


def _losses(samples, row, ours, others):
    ahead = [
        f"{name} ({ratio_text(samples, row, ours, name)})"
        for name in others
        if _is_behind(samples, row, ours, name)
    ]
    return [f"{row.table}, {row.name}: {canonical(ours)} is behind {', '.join(ahead)}."] if ahead else []


def _is_behind(samples, row, ours, other):
    times = samples.times_as_good(row, ours, other)
    if times is None or times.median >= 1 - EVEN:
        return False
    step = CLOCK_STEP if row.name in ("median", "p99", "max") else 0
    return abs(samples.median(row, ours) - samples.median(row, other)) > step

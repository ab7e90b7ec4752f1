# SPDX-License-Identifier: Apache-2.0
"""Programs that run unchanged over glibc's lock and over ours: what is measured of them, and whether one
becomes slower."""

from ..contenders import PRWLOCK, REPLACED
from .judging import Check, Missing, compared, decide, named

# Benchmarks whose every row is a program.
PROGRAM_BENCHMARKS = (
    "real_programs", "kyoto_cabinet", "rocksdb_readwhilewriting", "single_thread_impact",
)


def program_of(row):
    """A program is a curve, or a row of a table without one."""
    return row.table if row.x is not None else f"{row.name}, one thread"


def judge_programs(found):
    """Of all programs, whichever figure shows them, the worst point counts. What was not measured
    leaves the claim open."""
    checks = []
    for benchmark in PROGRAM_BENCHMARKS:
        try:
            checks += _checks(found, benchmark)
        except Missing:
            checks.append(Check(None, f"{benchmark} was not measured"))
    if all(check.passed is None for check in checks):
        raise Missing(PROGRAM_BENCHMARKS[0])
    return decide(checks)


def _checks(found, benchmark):
    samples = found.samples(benchmark)
    by_program = {}
    for row in samples.rows():
        if samples.times_as_good(row, PRWLOCK, REPLACED[PRWLOCK]):
            by_program.setdefault(program_of(row), []).append(row)
    if not by_program:
        raise Missing(benchmark)
    for program, rows in by_program.items():
        worst = min(
            rows, key=lambda row: samples.times_as_good(row, PRWLOCK, REPLACED[PRWLOCK]).median
        )
        where = "" if len(rows) == 1 else f"at {worst.name}, the worst place"
        told, spread = compared(
            found, worst.table, worst.name, PRWLOCK, REPLACED[PRWLOCK], where, benchmark
        )
        yield named(program, Check(spread.median >= 0.95, told))

# SPDX-License-Identifier: Apache-2.0
"""What `make kernel-check` counted, for the figures whose locks are inside the kernel."""

import json
from dataclasses import dataclass
from pathlib import Path

import jsonschema

from . import results as store
from .failure import Failure

# The programs of kernel/programs that stand for a figure's, and the variants that it compares.
LOCKS = ("off", "prwlock")
POLICIES = ("off", "paper", "weighed")
PROGRAMS = {
    "fcp-12": (("histogram",), LOCKS),
    "fcp-13": (("wordcount",), LOCKS),
    "fcp-14": (("indexing",), LOCKS),
    "bravo-7": (("fault", "mmap"), POLICIES),
    "bravo-table1": (("wordcount",), POLICIES),
}
NAMES = {
    "off": "rwsem", "prwlock": "prwlock", "paper": "BRAVO, the paper's policy", "weighed": "BRAVO, weighed",
}
CPUS, PREEMPT = 4, "full"  # of the guests that are shown


@dataclass(frozen=True)
class Column:
    title: str
    field: str


COLUMNS = (
    Column("Faults", "faults"),
    Column("Reads that write the lock", "counted_reads"),
    Column("Revocations", "revocations"),
    Column("Writers slept", "writers_slept"),
    Column("Interrupts", "interrupts"),
    Column("Switches", "switches"),
)
SECONDS = Column("Seconds", "seconds")  # only where the guests were not emulated


def load(path):
    """The counts in the file that `make kernel-check` wrote."""
    try:
        counts = json.loads(Path(path).read_text(encoding="utf-8"))
        store.check_kernel(counts)
    except OSError as error:
        raise Failure(
            f"--kernel {path} cannot be read: {error.strerror}; 'make kernel-check' in the source tree writes"
            " out/kernel-check/counts.json"
        ) from None
    except (ValueError, jsonschema.ValidationError) as error:
        raise Failure(f"--kernel {path} does not hold the counts of 'make kernel-check': {str(error)[:200]}") from None
    return counts


def tables(figure, results):
    """In the form of a figure's tables: one for each program that stands for it. Empty without counts."""
    counts = results.get("kernel")
    programs, variants = PROGRAMS.get(figure.id, ((), ()))
    return [one for one in (_table(program, variants, counts) for program in programs if counts) if one]


def told(figure, results):
    """The same as a sentence for each program."""
    return " ".join(
        f"{table['title']}: " + "; ".join(
            f"{name} " + ", ".join(
                f"{cell} {head[0].lower()}{head[1:]}" for head, cell in zip(table["head"], cells) if cell != "-"
            )
            for name, cells in table["body"]
        ) + "."
        for table in tables(figure, results)
    )


def _table(program, variants, counts):
    rows = {
        row["variant"]: row
        for row in counts["rows"]
        if (row["kernel"], row["cpus"], row["preempt"], row["program"]) == ("plain", CPUS, PREEMPT, program)
    }
    if not all(variant in rows for variant in variants):
        return None
    emulated = counts["accelerator"] != "kvm"
    columns = COLUMNS if emulated else (*COLUMNS, SECONDS)
    how = "counted in an emulated guest" if emulated else "measured in a guest under KVM"
    return {
        "title": f"The program {program}, {how} of Linux {counts['release']} with {CPUS} CPUs",
        "head": [column.title for column in columns],
        "body": [(NAMES[one], [_cell(rows[one], column) for column in columns]) for one in variants],
    }


def _cell(row, column):
    value = row[column.field]
    if column.field == "counted_reads" and row["variant"] == "off":
        return "all"
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"

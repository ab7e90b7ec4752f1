# SPDX-License-Identifier: Apache-2.0
"""Every figure and table of the report, in its order."""

from . import bravo, fcp, own, rcu
from .figure import Figure

ALL = (*fcp.FIGURES, *bravo.FIGURES, *rcu.FIGURES, *own.FIGURES)
MEASURED = tuple(figure for figure in ALL if not figure.elsewhere)
PAPERS = ("FCP", "BRAVO", "RCU", "Readmost")
GROUPS = {"fcp": "FCP", "bravo": "BRAVO", "rcu": "RCU", "own": "Readmost"}
# What `make bench` measures: the cost of single operations beside other libraries.
OPERATIONS = (
    "fcp-16", "fcp-19", "fcp-21", "fcp-22", "bravo-sizes", "own-lock-operations",
    "own-write-latency", "own-longest-wait", "own-rwbench", "own-read-section", "own-grace-period", "own-retire",
)


def named(name) -> list[Figure]:
    """The figures of that name: a figure, a benchmark, a paper, `operations`, or `all`."""
    if name == "all":
        return list(MEASURED)
    if name == "operations":
        return [figure for figure in MEASURED if figure.id in OPERATIONS]
    if name in GROUPS:
        return [figure for figure in MEASURED if figure.paper == GROUPS[name]]
    return [figure for figure in MEASURED if name == figure.id or name in figure.benchmarks]


def names():
    return [
        "all",
        "operations",
        *GROUPS,
        *(figure.id for figure in MEASURED),
        *dict.fromkeys(one for figure in MEASURED for one in figure.benchmarks),
    ]

"""What the papers do not show, and what decides for users."""

from ..contenders import PRWLOCK, rivals_of_lock, rivals_of_rcu
from .figure import Axis, Contest, Figure, Panel
from .judging import Check, at_least, decide, named, never_below

RCU = "readmost::rcu"
MEMB = "liburcu-memb"
LOCKS = Contest(PRWLOCK, rivals_of_lock)

PROGRAMS = (
    "Node.js, parse a PEM key",
    "RE2, one object in all threads",
    "std::pmr pool, allocate and free",
    "OpenSSL, fetch digest and cipher",
    "OpenSSL, parse a certificate",
    "std::shared_mutex map, reads only",
    "std::shared_mutex map, 1 write in 1000",
    "std::shared_mutex map, 1 write in 4",
)
GRACE_PERIODS = {
    of: f"Grace period, {of}"
    for of in (
        "no reader",
        "a reader without a rest",
        "64 threads asleep that have read",
        "4 readers that sleep inside now and then",
    )
}
PROBABILITIES = (0.5, 0.1, 0.01, 0.001, 0.0001)
POLICIES = ("default", "pthread", "paper", "consensus", "scalar scan", "one probe", "private table")


def judge_programs(found):
    return decide(
        [
            named(table, never_below(found, table, found.places(table), PRWLOCK, "pthread", 0.95))
            for table in PROGRAMS
            if found.samples().rows(table)
        ]
    )


def judge_read_section(found):
    return decide(
        [at_least(found, "Read section", x, RCU, MEMB, 1) for x in found.places("Read section")]
    )


def judge_grace_period(found):
    return decide(
        [
            at_least(found, table, "median", RCU, MEMB, 1, f"({of})")
            for of, table in GRACE_PERIODS.items()
        ]
    )


def rwbench(probability):
    return f"RWBench, P = {probability:g}"


def judge_policies(found):
    tables = {f"P = {probability:g}": rwbench(probability) for probability in PROBABILITIES}
    checks = [
        named(of, never_below(found, table, found.places(table), "default", "pthread", 0.95))
        for of, table in tables.items()
    ]
    rare, table = list(tables.items())[-1]
    checks.append(named(rare, at_least(found, table, 2, "default", "pthread", 2)))
    most = max(found.places("Scan"))
    there = found.samples().contenders([found.row("Scan", most)])
    took, quickest = min((found.median("Scan", most, name), name) for name in there)
    told = f"a scan of {most:,.0f} slots takes {took:.2f} ns a slot ({quickest})"
    return decide([*checks, Check(took <= 0.3, told)])


FIGURES = (
    Figure(
        "own-bravo", "Readmost", "", "BRAVO over pthread, one part of its policy changed at a time",
        "Over pthread it is never below 0.95 of pthread, and at least twice as good when 1 of"
        " 10,000 write with two threads; a scan takes at most 0.3 ns a slot.",
        "Lock and unlock through a slot (biased) and through the lock underneath, writing with a"
        " revocation and without; RWBench; and scans of the table of visible readers.",
        (
            *(
                Panel("Lock and unlock", Axis("ns"), title=title, rows=(name,))
                for name, title in (
                    ("read, biased", "Reading, biased"),
                    ("read, unbiased", "Reading, not biased"),
                    ("write, with a revocation", "Writing, with a revocation"),
                    ("write, without", "Writing, without a revocation"),
                )
            ),
            *(
                Panel(
                    rwbench(p), Axis("loops per second"), Axis("threads"), contenders=POLICIES
                )
                for p in PROBABILITIES
            ),
            Panel("Scan", Axis("ns per slot", log=True), Axis("slots", log=True)),
        ),
        ("bravo_policies",),
        judge_policies,
    ),
    Figure(
        "own-programs", "Readmost", "", "Real programs",
        "No program becomes slower with prwlock preloaded.",
        "Programs and libraries as the distribution ships them, with each lock preloaded.",
        tuple(Panel(table, Axis("operations per second"), Axis("threads")) for table in PROGRAMS),
        ("real_programs",),
        judge_programs,
        (LOCKS,),
    ),
    Figure(
        "own-read-section", "Readmost", "", "A read section with a pointer's load and a read",
        "RCU's readers cost no more than those of liburcu's default flavor.",
        "Time for each of one and of two threads: RCU, hazard pointers, reader-writer locks.",
        (
            Panel("Read section", Axis("ns"), title="One thread", rows=("1",)),
            Panel("Read section", Axis("ns"), title="Each of two threads", rows=("2",)),
        ),
        ("rcu_read_pair",),
        judge_read_section,
        (Contest(RCU, rivals_of_rcu),),
    ),
    Figure(
        "own-grace-period", "Readmost", "", "How long a grace period takes",
        "Never longer than with liburcu's default flavor.",
        "rcu_synchronize against no reader, one without a rest, many that sleep, and some that"
        " sleep inside.",
        tuple(
            Panel(table, Axis("ns, median", log=True), rows=("median",))
            for table in GRACE_PERIODS.values()
        ),
        ("grace_period",),
        judge_grace_period,
        (Contest(RCU, rivals_of_rcu),),
    ),
)

# SPDX-License-Identifier: Apache-2.0
"""Exploiting Deferred Destruction: An Analysis of Read-Copy-Update Techniques (RCU)."""

from ..contenders import PRWLOCK, all_others, rivals_of_lock
from ..samples import text
from .figure import Axis, Contest, Figure, Panel, curves, elsewhere
from .judging import (
    Check, at_each, at_least, compared, decide, few_cpus, grows, named, never_below, times_text,
)

CPUS = 4  # of the paper's machine

RCU = "readmost::rcu"
ID_TABLE = "readmost::id_table"
LOCKS = Contest(PRWLOCK, rivals_of_lock)
SMALL, LARGE = 32, 16384
SIZES = (SMALL, LARGE)
HERE = "this machine"
RATES = (0.1, 10)
CPU_COUNTS, RATIOS = "CPUs", "memory-latency ratio"
KERNEL = "It measures the kernel's System V semaphores, in a kernel patched for it. "


def judge_costs(found):
    table, here = "Operation costs in instructions", HERE
    checks = []
    for operation, least, paper in (
        ("atomic increment", 20, 83),
        ("main memory", 100, 232),
        ("cmpxchg, blind cache transfer", 100, 243),
        ("cmpxchg, cache transfer and invalidate", 100, 516),
    ):
        if found.samples().row(table, operation) is None:
            checks.append(Check(None, f"{operation} needs two CPUs"))
            continue
        cost = found.median(table, operation, here)
        checks.append(
            Check(cost >= least, f"{operation}: {text(cost)} instructions (the paper: {paper})")
        )
    return decide(checks, "Atomic operations on a line in the own cache have become cheaper since.")


def judge_efficiency(found):
    table = "Efficiency of a section, reading"
    short, long = min(found.places(table)), 1000
    low, high = (found.median(table, x, "pthread") for x in (short, long))
    ours = found.median(table, short, PRWLOCK)
    return decide(
        [
            Check(
                low < 0.5,
                f"of {short:g} instructions under a read lock of pthread, {low:.0%} of the time is"
                " theirs",
            ),
            Check(high > low, f"of {long:,} instructions {high:.0%}"),
            Check(ours > low, f"under prwlock it is {ours:.0%} of {short:g}"),
            Check(None, "the fall over twenty years of machines cannot be seen on one"),
        ],
        "One machine shows no trend.",
    )


def judge_scalability(found):
    checks = []
    table = f"Searches, {SMALL} buckets"
    here = found.places_on_cpus(table)
    first, last = here[0], here[-1]
    if last == first:
        checks.append(Check(None, "how it scales needs two CPUs"))
    else:
        grown, told = grows(found, table, first, last, "pthread", 1)
        checks.append(Check(not grown, f"{told}: the paper's scales negatively"))
        checks.append(Check(*grows(found, table, first, last, "brlock", 0.8 * last / first)))
    for other in ("brlock", "hazard-fenced"):
        checks.append(at_least(found, table, last, "ideal", other, 1.2))
    return decide(checks, few_cpus(found, CPUS))


def judge_rcu_search(found):
    checks = []
    for buckets in SIZES:
        table = f"Searches, {buckets} buckets"
        here = found.places_on_cpus(table)
        worst = min(here, key=lambda x: found.times(table, x, RCU, "ideal").median)
        where = f"{at_each('thread')(worst)} with {buckets:,} buckets"
        checks.append(at_least(found, table, worst, RCU, "ideal", 0.85, where))
    return decide(checks, few_cpus(found, CPUS))


def at_share(of_updates):
    return f"at a share of updates of {of_updates:g}"


def mixed_checks(found, buckets):
    table, size = f"Searches and updates, {buckets} buckets", f"{buckets:,} buckets"
    places, samples = found.places(table), found.samples()
    rivals = [one for one in samples.contenders(samples.rows(table)) if one not in ("ideal", RCU)]

    def best(x):
        return max(found.median(table, x, name) for name in rivals)

    few = [x for x in places if x <= 0.5]
    ahead = [x for x in few if found.median(table, x, RCU) >= best(x)]
    share = found.median(table, max(places), RCU) / best(max(places))
    return [
        at_least(found, table, 0, RCU, "ideal", 0.9, f"without updates, {size}"),
        Check(
            ahead == few,
            f"with {size} RCU is the best at {len(ahead)} of the {len(few)} shares of updates up to"
            " 0.5",
        ),
        named(size, never_below(found, table, places, RCU, "brlock", 2, at_share)),
        Check(share >= 0.5, f"with updates alone, {size}, it has {share:.0%} of the best"),
    ]


def judge_mixed(found):
    checks = [check for buckets in SIZES for check in mixed_checks(found, buckets)]
    return decide(checks, few_cpus(found, CPUS))


def judge_semaphores(found):
    table = "Semaphore operations"
    last = found.places_on_cpus(table)[-1]
    where = f"with {last:g} thread" + ("" if last == 1 else "s")
    told, spread = compared(found, table, last, ID_TABLE, "global-lock", where)
    return decide(
        [
            Check(spread.median >= 10, told),
            Check(spread.median > 1.05, f"it is an improvement: {times_text(spread.median)} times"),
        ],
        "The paper's lock was contended by eight CPUs. " + few_cpus(found, 8),
    )


def model(by, rate, machine):
    what = f"Break-even share of updates by {by}"
    return f"{what}, {rate:g} updates per CPU and grace period, {machine}"


def shares(found, by, rate):
    """The share of updates up to which RCU is the cheapest, along the axis."""
    table = model(by, rate, HERE)
    return [(x, found.median(table, x, "RCU over both")) for x in found.places(table)]


def rises(curve):
    return all(later >= before - 0.01 for (_, before), (_, later) in zip(curve, curve[1:]))


def ends(curve):
    (first, low), (last, high) = curve[0], curve[-1]
    return f"from {low:.2f} at {first:g} to {high:.2f} at {last:g}"


CHEAP = (
    "The costs are of this machine, where a grace period is far cheaper than in the paper's kernel."
)


def judge_by_cpus(found):
    rare, often = (shares(found, CPU_COUNTS, rate) for rate in RATES)
    at, least = min(rare, key=lambda point: point[1])
    return decide(
        [
            Check(
                rare[0][0] < at < rare[-1][0] and rare[-1][1] > least + 0.01,
                "with 0.1 updates per grace period RCU is the cheapest up to a share of updates"
                f" that is least, {least:.2f}, at {at:g} CPUs, {ends(rare)}",
            ),
            Check(rises(often), f"with 10 updates it goes {ends(often)} CPUs"),
        ],
        CHEAP,
    )


def judge_by_ratio(found):
    rare, often = (shares(found, RATIOS, rate) for rate in RATES)
    return decide(
        [
            Check(
                rare[-1][1] < rare[0][1],
                "with 0.1 updates per grace period RCU is the cheapest up to a share of updates"
                f" that goes {ends(rare)} times the latency",
            ),
            Check(
                rises(often) and often[-1][1] > often[0][1],
                f"with 10 updates it goes {ends(often)}",
            ),
        ],
        CHEAP,
    )


def modelled(figure, by, x, title, claim, judge):
    return Figure(
        f"rcu-{figure}", "RCU", f"Figure {figure}", title,
        claim,
        "A model, fed with costs measured here and with those of the paper's machine: the share of"
        " updates up to which one is cheaper than another; RCU is the best below `RCU over both`."
        " The paper does not print its formulas; they are derived in"
        " simulation/advice/breakeven_model.hpp.",
        tuple(
            Panel(
                model(by, rate, machine),
                Axis("share of updates"),
                Axis(x, log=True),
                title=f"{rate:g} updates per CPU and grace period, {machine}",
            )
            for machine in (HERE, "the paper's machine")
            for rate in RATES
        ),
        ("rcu_breakeven",),
        judge,
    )


def by_size(what, y, x, **more):
    """A panel for each size of the hash table."""
    return tuple(
        Panel(f"{what}, {buckets} buckets", y, x, title=f"{buckets:,} buckets", **more)
        for buckets in SIZES
    )


FIGURES = (
    Figure(
        "rcu-table1", "RCU", "Table 1", "The cost of operations",
        "Synchronization costs two to three orders of magnitude more than an instruction: on a 700"
        " MHz Pentium III an atomic increment 83 instructions, a cmpxchg on a line of another CPU"
        " 243 to 516.",
        "Chains of operations that need the one before, except for instructions.",
        (Panel("Operation costs", Axis("ns", log=True)),),
        ("operation_costs",),
        judge_costs,
    ),
    Figure(
        "rcu-1", "RCU", "Figure 1", "Efficiency of critical sections",
        "The share of a short critical section's time that is its own work has fallen for twenty"
        " years.",
        "The share of instructions under a lock in the whole time, by their number.",
        curves(
            ("Efficiency of a section, reading", "Efficiency of a section, writing"),
            Axis("share of the time"), Axis("instructions", log=True),
            contenders=(
                "prwlock", "pthread", "ba", "bravo-ba", "per-cpu", "brlock", "rmlock", "cohort-rw",
                "std::shared_mutex",
            ),
        ),
        ("critical_section",),
        judge_efficiency,
        (LOCKS,),
    ),
    Figure(
        "rcu-2", "RCU", "Figure 2", "Searches in a hash table under locks and hazard pointers",
        "A global reader-writer lock scales negatively on two processors; brlock scales but is far"
        " from ideal, and so are hazard pointers.",
        "Operations per second by threads, in a table that fits the cache and one that does not."
        " `ideal` is one thread without synchronization, times the threads that can run at once.",
        by_size(
            "Searches", Axis("searches per second"), Axis("threads"),
            contenders=("ideal", "pthread", "prwlock", "brlock", "hazard-fenced"),
        ),
        ("rcu_hash_table",),
        judge_scalability,
        (LOCKS,),
    ),
    Figure(
        "rcu-6", "RCU", "Figure 6", "Searches in a hash table under RCU",
        "RCU is close to ideal for read-only work, in small and in large tables.",
        "As Figure 2, with RCU.",
        by_size("Searches", Axis("searches per second"), Axis("threads")),
        ("rcu_hash_table",),
        judge_rcu_search,
        (Contest(RCU, all_others),),
    ),
    Figure(
        "rcu-27", "RCU", "Figure 27", "A hash table, by the share of updates",
        "RCU is ideal without updates, the best up to a share of about 0.5, beats brlock more than"
        " twice throughout, and has at least half of the best with updates alone.",
        "A thread for each CPU. Updates delete and insert again, under a spinlock for each bucket"
        " with RCU and hazard pointers.",
        by_size(
            "Searches and updates", Axis("operations per second", log=True),
            Axis("share of updates"),
        ),
        ("rcu_hash_table",),
        judge_mixed,
        (Contest(RCU, all_others), LOCKS),
    ),
    Figure(
        "rcu-table7", "RCU", "Table 7", "Semaphores by number",
        "With RCU semopbench takes 46.7 s on 8 CPUs instead of 515.3 s: eleven times as fast.",
        "A program instead of a kernel: threads look a semaphore up in an array, lock it and count"
        " it up. `global-lock` is a lock around everything; the others guard the array only."
        " `readmost::id_table` is the library's table, the rest the paper's array written out. The"
        " thread that creates and removes others writes without a pause, so `pthread-writer` and"
        " `prwlock-reader` show both locks under both preferences.",
        curves(
            {
                "Semaphore operations": "At rest",
                "Semaphore operations while others come and go": "While others come and go",
            },
            Axis("operations per second"), Axis("threads"),
        ),
        ("semaphore_array",),
        judge_semaphores,
        (Contest(ID_TABLE, all_others), Contest(RCU, all_others), LOCKS),
    ),
    modelled(
        "28", CPU_COUNTS, "CPUs",
        "The share of updates up to which RCU is the best, by CPUs",
        "With few updates per grace period RCU's region shrinks up to about 10 CPUs and then grows;"
        " with many it grows throughout.",
        judge_by_cpus,
    ),
    modelled(
        "29", RATIOS, "memory latency / cache latency",
        "The share of updates up to which RCU is the best, by memory latency",
        "With few updates per grace period the work must be more read-mostly as memory becomes"
        " slower; with many, RCU is the best for more and more updates.",
        judge_by_ratio,
    ),
    elsewhere(
        "RCU", "26", "Figure 26, Table 6", "DBT1, a database benchmark",
        "89.8 transactions per second with RCU, 85.0 without.",
        KERNEL + "Table 7 measures the same structure in a program.",
    ),
    elsewhere(
        "RCU", "table8", "Table 8", "Lines that RCU adds to System V IPC",
        "151 lines more, 4.37%.",
        "It counts lines of the Linux kernel's source before and after a change; nothing"
        " runs.",
    ),
)

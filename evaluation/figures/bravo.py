# SPDX-License-Identifier: Apache-2.0
"""BRAVO: Biased Locking for Reader-Writer Locks."""

from ..contenders import BRAVO, PRWLOCK, rivals_of_lock
from ..samples import text
from .figure import Axis, Contest, Figure, Panel, bars, curves, elsewhere
from .judging import Check, at_each, at_least, decide, few_cpus, grows, never_below

CPUS = 72  # of the paper's machine

LOCKS = Contest(PRWLOCK, rivals_of_lock)
KERNEL = (
    "It measures the kernel's rwsem, in a kernel patched for it, which a library cannot replace;"
    " docs/kernel.md counts it in emulated guests. "
)


def sweep(table, unit, of="threads"):
    """The paper's locks and ours, by threads."""
    return Panel(table, Axis(unit), Axis(of), contenders=BRAVO)


def judge_interference(found):
    table = "Inter-lock interference"
    checks = []
    for contender, policy in (("bravo-ba", "ours"), ("bravo-ba-paper", "the paper's")):
        fractions = {x: found.median(table, x, contender) for x in found.places(table)}
        worst = min(fractions, key=fractions.get)
        checks.append(
            Check(
                fractions[worst] >= 0.94,
                f"with the policy that is {policy}, the shared table has {fractions[worst]:.1%} of"
                f" the acquisitions of a table for each lock {at_each('lock')(worst)}, the worst"
                " place",
            )
        )
    return decide(checks, few_cpus(found, CPUS))


def judge_alternator(found):
    table = "Alternator"
    many = max(found.places(table))
    few = [x for x in found.places_on_cpus(table) if x > 1][-1:] or [many]
    return decide(
        [
            at_least(found, table, few[0], "bravo-ba", "ba", 1.1),
            at_least(found, table, few[0], "bravo-ba", "per-cpu", 0.9),
            at_least(found, table, few[0], "bravo-pthread", "pthread", 1.1),
        ],
        "Two CPUs of one socket give a line to each other sooner than 72 in two sockets. "
        + few_cpus(found, CPUS),
    )


def judge_test_rwlock(found):
    table = "test_rwlock"
    last = found.places_on_cpus(table)[-1]
    return decide(
        [
            at_least(found, table, last, "bravo-ba", "ba", 1.2),
            at_least(found, table, last, "bravo-ba", "cohort-rw", 1),
            at_least(found, table, last, "bravo-pthread", "pthread", 1.2),
            at_least(found, table, last, "bravo-pthread", "per-cpu", 0.8),
        ],
        few_cpus(found, CPUS),
    )


def judge_rwbench(probability):
    table = f"RWBench, P = {probability:g}"

    def judge(found):
        here = found.places_on_cpus(table)
        first, last = here[0], here[-1]
        checks = []
        if probability >= 0.1:
            checks += [
                never_below(found, table, here, f"bravo-{lock}", lock, 0.95)
                for lock in ("pthread", "ba")
            ]
            if probability == 0.9:
                checks.append(at_least(found, table, last, "ba", "per-cpu", 1.1))
        elif probability == 0.01:
            checks.append(at_least(found, table, last, "bravo-ba", "ba", 1.05))
            checks.append(never_below(found, table, here, "bravo-pthread", "pthread", 0.95))
        else:
            checks += [
                at_least(found, table, last, "bravo-ba", "ba", 1.2),
                at_least(found, table, last, "bravo-pthread", "pthread", 1.2),
                at_least(found, table, last, "bravo-ba", "per-cpu", 0.8),
            ]
            if last > first:
                flat, told = grows(found, table, first, last, "pthread", 1.3)
                checks.append(Check(not flat, f"{told}: flat, says the paper"))
        return decide(checks, few_cpus(found, CPUS))

    return judge


def rwbench(letter, probability, words, claim):
    return Figure(
        f"bravo-4{letter}", "BRAVO", f"Figure 4{letter}", f"RWBench, {words} write",
        claim,
        "Loops per second of all threads together: 10 steps of std::mt19937 under the lock, up to"
        " 199 without it.",
        (sweep(f"RWBench, P = {probability:g}", "loops per second"),),
        ("rwbench_locks",),
        judge_rwbench(probability),
        (LOCKS,),
    )


def judge_rocksdb(found):
    table = "RocksDB readwhilewriting"
    places = found.places(table)
    last = found.places_on_cpus(table)[-1]
    return decide(
        [
            never_below(found, table, places, "bravo-ba", "ba", 1, at_each("reader")),
            never_below(found, table, places, "bravo-pthread", "pthread", 1, at_each("reader")),
            at_least(found, table, last, "bravo-ba", "per-cpu", 0.9),
            at_least(found, table, last, "bravo-ba", "cohort-rw", 1),
        ],
        "The writer here takes a CPU of its own from the readers. " + few_cpus(found, CPUS),
    )


def judge_hash_table(found):
    table = "hash_table_bench"
    last = max(found.places(table))
    return decide(
        [
            at_least(found, table, last, "bravo-ba", "ba", 1.05),
            at_least(found, table, last, "bravo-pthread", "pthread", 1.05),
        ],
        few_cpus(found, CPUS),
    )


def judge_sizes(found):
    table, there = "Size of a lock", "72 CPUs, 2 nodes"
    size = {
        name: found.median(table, there, name)
        for name in ("pthread", "ba", "bravo-pthread", "bravo-ba", "per-cpu", "cohort-rw")
    }
    return decide(
        [
            Check(
                size["bravo-pthread"] <= size["pthread"] + 16,
                f"BRAVO makes {text(size['pthread'])} bytes of pthread"
                f" {text(size['bravo-pthread'])} (the paper: 56 and 68)",
            ),
            Check(
                size["bravo-ba"] <= size["ba"] + 16,
                f"and {text(size['ba'])} of ba {text(size['bravo-ba'])} (128 and 128)",
            ),
            Check(
                size["per-cpu"] >= 9216 / 1.5,
                f"per-cpu takes {text(size['per-cpu'])} on 72 CPUs (9,216)",
            ),
            Check(
                512 / 1.5 <= size["cohort-rw"] <= 896 * 1.5,
                f"cohort-rw takes {text(size['cohort-rw'])} on 2 nodes (896)",
            ),
        ]
    )


READ_DOMINATED = (
    "BRAVO-BA and BRAVO-pthread perform like Per-CPU, while BA and pthread are flat as threads are"
    " added."
)

FIGURES = (
    Figure(
        "bravo-1", "BRAVO", "Figure 1", "Interference between locks",
        "Sharing one table among all locks costs less than 6%, however many locks there are.",
        "Read locks per second of 64 threads that lock random locks of a pool: with the shared table"
        " as a fraction of those with a table for each lock, and both separately.",
        tuple(
            Panel(table, Axis(unit), Axis("locks in the pool", log=True))
            for table, unit in (
                ("Inter-lock interference", "shared table / table for each"),
                ("Acquisitions, one table for all locks", "acquisitions per second"),
                ("Acquisitions, a table for each lock", "acquisitions per second"),
            )
        ),
        ("lock_interference",),
        judge_interference,
    ),
    Figure(
        "bravo-2", "BRAVO", "Figure 2", "Alternator",
        "BRAVO-BA outperforms BA by a wide margin, is competitive with the much larger Per-CPU lock"
        " and does not degrade as threads are added; so with pthread.",
        "Turns per second of a ring of threads, of which one at a time locks for reading and"
        " unlocks. Waiting threads poll without a pause; where threads outnumber CPUs, they yield"
        " between two polls.",
        (sweep("Alternator", "turns per second"),),
        ("alternator",),
        judge_alternator,
        (LOCKS,),
    ),
    Figure(
        "bravo-3", "BRAVO", "Figure 3", "test_rwlock",
        "BRAVO-BA significantly outperforms BA and Cohort-RW; BRAVO-pthread easily beats pthread"
        " and comes close to Per-CPU, the best.",
        "T readers repeatedly count down from 10 inside; one writer counts down from 10 inside and"
        " from 1000 outside.",
        (sweep("test_rwlock", "sections per second", "readers"),),
        ("test_rwlock",),
        judge_test_rwlock,
        (LOCKS,),
    ),
    rwbench(
        "a", 0.9, "9 of 10",
        "No lock scales. BRAVO tracks the lock underneath: neither benefit nor harm. Per-CPU fails"
        " poorly.",
    ),
    rwbench("b", 0.5, "half", "As in Figure 4a: BRAVO tracks the lock underneath."),
    rwbench("c", 0.1, "1 of 10", "As in Figure 4a: BRAVO tracks the lock underneath."),
    rwbench("d", 0.01, "1 of 100", "BRAVO-BA begins to outperform BA."),
    rwbench("e", 0.001, "1 of 1000", READ_DOMINATED),
    rwbench("f", 0.0001, "1 of 10,000", READ_DOMINATED),
    Figure(
        "bravo-5", "BRAVO", "Figure 5", "RocksDB, readwhilewriting",
        "BRAVO-BA and BRAVO-pthread track Per-CPU, and always exceed Cohort-RW and the lock"
        " underneath.",
        "The distribution's library with the paper's options and each lock preloaded; a writer"
        " without a pause as in the paper, and one that writes 1000 times a second over every"
        " lock.",
        curves(
            {
                "RocksDB readwhilewriting": "Writer without a pause",
                "RocksDB readwhilewriting, 1000 writes per second": "1000 writes per second",
            },
            Axis("reads per second"), Axis("readers"),
        ),
        ("rocksdb_readwhilewriting",),
        judge_rocksdb,
        (LOCKS,),
    ),
    Figure(
        "bravo-6", "BRAVO", "Figure 6", "hash_table_bench of RocksDB",
        "BRAVO enhances the locks underneath, with substantial speedup at many threads.",
        "A std::unordered_map under the lock: T threads look up, one inserts, one erases, all"
        " without a pause. Operations of all kinds together.",
        (sweep("hash_table_bench", "operations per second", "readers"),),
        ("hash_table_bench",),
        judge_hash_table,
        (LOCKS,),
    ),
    Figure(
        "bravo-sizes", "BRAVO", "Section 5", "Sizes of locks",
        "pthread takes 56 bytes and BRAVO adds 12; BA and BRAVO-BA take 128; Per-CPU 9,216 on 72"
        " CPUs, Cohort-RW 896 on two nodes.",
        "Each lock with what it allocates, on this machine and on one like the paper's.",
        bars("Size of a lock", Axis("bytes", log=True), {
            "on this machine": "On this machine", "72 CPUs, 2 nodes": "On 72 CPUs and 2 nodes",
        })
        + (Panel("Make and destroy a lock", Axis("ns")),),
        ("lock_sizes",),
        judge_sizes,
        (LOCKS,),
    ),
    elsewhere(
        "BRAVO", "7", "Figure 7", "will-it-scale",
        "page_fault gains up to 93% at 142 threads; mmap does not change.",
        KERNEL + "will-it-scale faults and maps under mmap_sem.",
    ),
    elsewhere(
        "BRAVO", "table1", "Tables 1, 2", "Metis' wc and wrmem",
        "18.5% and 36.9% less time at best.",
        KERNEL + "Metis faults and maps under mmap_sem.",
    ),
)

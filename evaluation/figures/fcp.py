# SPDX-License-Identifier: Apache-2.0
"""Fast Consensus Using Bounded Staleness for Scalable Read-Mostly Synchronization (FCP)."""

from ..contenders import PRWLOCK, all_others, rivals_of_lock, rivals_of_rcu
from ..samples import text
from .figure import Axis, Contest, Figure, Panel, bars, curves, elsewhere
from .judging import (
    Check, Missing, at_each, at_least, decide, few_cpus, named, never_below, times_text,
)
from .places import first_number

CPUS = 64  # of the paper's machine

RCU = "readmost::rcu"
MEMB = "liburcu-memb"
MAP, LFHT, LOCKED_MAP = "readmost::rcu_hash_map", "liburcu-cds_lfht", "map-in-std::shared_mutex"
LOCK_WRITERS, WRITERS = "lock_writer_frequency", "writer_frequency"
WAITS, RESIZES = "Grace period while a table is resized", "Resizes beside lookups"
BESIDE_WRITER, BESIDE_READERS = "Readers beside a writer", "A writer beside readers"
LOCKS = Contest(PRWLOCK, rivals_of_lock)
RCUS = Contest(RCU, rivals_of_rcu)
DRAWN = (
    "prwlock", "pthread", "brlock", "brlock-flags", "rmlock", "percpu-rwlock", "bravo-ba",
    "bravo-pthread", "cohort-rw",
)
WAKERS = (
    "shared_mutex", "pthread_rwlock", "broadcast", "condvar", "by-cpu-bits", "by-cpu-words",
    "tree-of-4",
)
KERNEL = (
    "It measures locks inside the kernel, whose page faults take them, in a kernel patched for it;"
    " a library cannot replace those, and docs/kernel.md counts them in emulated guests. "
)
# How it is called in a check, its table, the unit.
KYOTO_CABINET = tuple(
    (of, f"Kyoto Cabinet {of}", unit)
    for of, unit in (
        ("CacheDB, wicked", "operations per second"),
        ("ProtoHashDB, wicked", "operations per second"),
        ("CacheDB, lookups", "lookups per second"),
    )
)


def judge_staleness(found):
    table = "Readers that have seen a new version"
    memory = found.median(table, 200, "memory")
    version = found.median(table, 1000, "sections")
    return decide(
        [
            Check(
                memory >= 50,
                f"of the stale reads of memory, {memory:.0f}% were over within 200 ns (the paper:"
                " most within 400 cycles, 167 ns at its 2.4 GHz)",
            ),
            Check(
                version >= 50,
                f"{version:.0f}% of the readers without a pause had reported the new version"
                " within 1 us, by themselves",
            ),
        ],
        few_cpus(found, CPUS),
    )


def judge_message_cost(found):
    table = "Cost of a message"
    cycles = found.median(f"{table} in clock cycles", 1, "membarrier")
    checks = [
        Check(
            cycles <= 20_000,
            f"a membarrier that interrupts one running thread takes {text(cycles)} cycles, where"
            " the paper's machines take 1,316 and 1,447 for a message and its writers several tens"
            " of thousands under load",
        )
    ]
    most = max(found.places(table))
    if most > 1:
        one, many = (found.median(table, x, "membarrier") for x in (1, most))
        told = f"a message to {most:g} threads takes {times_text(many / one)} times as long as to"
        checks.append(Check(many / one <= 2, f"{told} one: they are sent at once"))
    else:
        told = "whether messages to many CPUs cost as much as one needs more than two CPUs"
        checks.append(Check(None, told))
    virtual = "In a virtual machine a message leaves and enters the guest. "
    limits = virtual if found.machine.get("virtual") else ""
    return decide(checks, limits + few_cpus(found, CPUS))


def judge_critical_sections(found):
    table, cycles = "Lock and unlock", "Lock and unlock, cycles"
    others = [name for name in ("brlock", "rmlock", "pthread") if found.has(name, table)]
    if not others:
        raise Missing("the locks of the paper's table")
    alone = found.median(cycles, "reading, alone", PRWLOCK)
    beside = found.median(cycles, "reading, beside readers", PRWLOCK)
    reading, where = "reading, alone", "reading alone"
    checks = [at_least(found, table, reading, PRWLOCK, other, 1.1, where) for other in others]
    checks.append(
        Check(
            beside <= 1.5 * alone,
            f"a read lock of prwlock takes {text(alone)} cycles alone and {text(beside)} beside"
            " readers (the paper: 12 and 12)",
        )
    )
    writing, where = "writing, beside readers", "writing beside readers"
    checks += [at_least(found, table, writing, PRWLOCK, other, 1.1, where) for other in others]
    return decide(checks, few_cpus(found, CPUS))


def judge_resizing_lookups(found):
    checks = [
        at_least(found, "Lookups", row, MAP, other, times, where)
        for row, where, other, times in (
            ("1 threads", "with 1 thread", LFHT, 0.95),
            ("2 threads", "with 2 threads", LFHT, 0.95),
            ("2 threads", "with 2 threads", LOCKED_MAP, 1.5),
        )
    ]
    return decide(checks, few_cpus(found, CPUS))


def judge_resizing(found):
    beside = "beside one thread that looks up"
    return decide(
        [
            at_least(found, WAITS, "median", MAP, LFHT, 3, "by the median"),
            at_least(found, RESIZES, "1 threads", MAP, LFHT, 1, beside),
        ],
        "The kernel's scheduler-based RCU, beside which the paper stands, waits for a tick of each"
        " CPU; liburcu's membarrier does not.",
    )


def judge_wake_up(found):
    most = max(found.places("90% awake"))
    return decide(
        [
            at_least(found, table, most, "by-cpu-words", "broadcast", 2, where)
            for table, where in (
                ("90% awake", f"until 90% of {most:g} sleepers run"),
                ("Waker busy", "until the waker goes on"),
            )
        ],
        f"{found.cpus} CPUs wake at most {found.cpus} at once. " + few_cpus(found, CPUS),
    )


def judge_sleeping_readers(found):
    table = "Readers, sleepers yield"
    places = found.places(table)
    half = min(places, key=lambda x: abs(x - max(places) / 2))
    return decide(
        [
            at_least(found, table, 0, PRWLOCK, "pthread", 1.2, "with no sleeper"),
            at_least(found, table, half, PRWLOCK, "pthread", 1.1, f"with {half:g} sleepers"),
            at_least(found, table, max(places), PRWLOCK, "pthread", 0.9, "when all readers sleep"),
        ],
        few_cpus(found, CPUS),
    )


def judge_writer_frequency(found):
    readers, writer = BESIDE_WRITER, BESIDE_READERS
    checks = []
    rare, often = "when a writer comes each millisecond", "when it does not pause"
    for check in (
        lambda: at_least(found, readers, 1000, PRWLOCK, "brlock", 1.05, rare, LOCK_WRITERS),
        lambda: at_least(found, writer, 0, PRWLOCK, "brlock", 1, often, LOCK_WRITERS),
        lambda: at_least(found, readers, "1000 us between writes", RCU, MEMB, 1.05, rare, WRITERS),
        lambda: at_least(found, writer, "0 us between writes", RCU, MEMB, 10, often, WRITERS),
    ):
        try:
            checks.append(check())
        except Missing as problem:
            checks.append(Check(None, f"not measured: {problem}"))
    if all(check.passed is None for check in checks):
        raise Missing(f"{LOCK_WRITERS}, {WRITERS}")
    return decide(
        checks,
        "liburcu's default flavor waits by membarrier, not by the paper's signals. "
        + few_cpus(found, CPUS),
    )


def judge_batch_size(found):
    table = "Updates in batches"
    peak = max(found.median(table, row.name, RCU) for row in found.samples().rows(table))
    at_100 = found.median(table, "batches of 100", RCU)
    return decide(
        [
            Check(
                at_100 >= 0.9 * peak,
                f"{RCU} has {at_100 / peak:.0%} of its peak rate at batches of 100",
            ),
            at_least(found, table, "batches of 1", RCU, MEMB, 2),
            at_least(found, table, "batches of 100", RCU, MEMB, 1.2),
        ],
        few_cpus(found, CPUS),
    )


def judge_kyoto_cabinet(found):
    checks = [
        named(of, never_below(found, table, found.places(table), PRWLOCK, "pthread", 1))
        for of, table, _ in KYOTO_CABINET
    ]
    of, table, _ = KYOTO_CABINET[-1]
    most = max(found.places(table))
    where = at_each("thread")(most)
    checks.append(named(of, at_least(found, table, most, PRWLOCK, "pthread", 2, where)))
    return decide(checks, few_cpus(found, CPUS))


def judge_single_thread(found):
    table = "Programs of one thread"
    return decide(
        [
            at_least(found, table, row.name, PRWLOCK, "pthread", 0.95)
            for row in found.samples().rows(table)
        ]
    )


FIGURES = (
    Figure(
        "fcp-1", "FCP", "Figure 1", "How soon a write is visible without a message",
        "Most readers see a writer's update within 400 cycles, without any barrier or message.",
        "The share of readers that have seen a new version, by time: `memory` is the paper's"
        " experiment, the others the library's own version, which readers of RCU see as they leave"
        " sections of that length or after rests of that length.",
        (
            Panel(
                "Readers that have seen a new version",
                Axis("readers, %"),
                Axis("time since the write (ns)", log=True),
            ),
        ),
        ("staleness",),
        judge_staleness,
    ),
    Figure(
        "fcp-table2", "FCP", "Table 2", "The cost of a message",
        "A message to another core takes 1,316 (AMD) and 1,447 (Intel) cycles, which a writer can "
        "afford; messages to many cores cost as much as one.",
        "membarrier(2), which interrupts each CPU that runs a thread of the process, by the number"
        " of running threads, beside other kinds of messages with an answer.",
        (
            Panel(
                "Cost of a message",
                Axis("time until all have it (ns)", log=True),
                Axis("receiving threads"),
            ),
        ),
        ("message_cost",),
        judge_message_cost,
    ),
    Figure(
        "fcp-table3", "FCP", "Table 3", "Lock and unlock, reading and writing",
        "prwlock's readers take 12 cycles, alone and beside 63 others; rmlock's 46, brlock's 58,"
        " rwsem's 107 and 20,730. Writing beside readers it takes 23,236 cycles, brlock 89,403,"
        " rmlock 622,341, rwsem 3,235,736.",
        "A pair of lock and unlock around an empty section; readers without a pause on every other"
        " CPU, at least one. pthread stands for rwsem.",
        bars("Lock and unlock", Axis("ns"), {
            "reading, alone": "Reading, alone",
            "reading, beside readers": "Reading, beside readers",
        })
        + bars("Lock and unlock", Axis("ns", log=True), {
            "writing, alone": "Writing, alone",
            "writing, beside readers": "Writing, beside readers",
        }),
        ("critical_section",),
        judge_critical_sections,
        (LOCKS,),
    ),
    elsewhere(
        "FCP", 12, "Figure 12", "Histogram's throughput",
        "prwlock outperforms Linux 3.8's rwsem 2.85 times and percpu-rwlock by 9% on 64 cores.",
        KERNEL + "Histogram faults 16 GB in under mmap_sem.",
    ),
    elsewhere(
        "FCP", 13, "Figure 13", "Metis' throughput",
        "prwlock has 27% and 55% more speedup than percpu-rwlock and Linux on 64 cores.",
        KERNEL + "Metis faults and maps under mmap_sem.",
    ),
    elsewhere(
        "FCP", 14, "Figure 14", "Psearchy's throughput",
        "prwlock is 20% better than Linux 3.8 and 5.63 times as good as percpu-rwlock on 64 cores.",
        KERNEL + "Psearchy maps in parallel under mmap_sem.",
    ),
    elsewhere(
        "FCP", 15, "Figure 15", "What parallel wake-up brings Histogram",
        "47.6% for Linux, 34.7% for RCUVM.",
        KERNEL + "Figure 19 measures the wake-up itself, and make kernel-test counts who wakes whom in the kernel.",
    ),
    Figure(
        "fcp-16", "FCP", "Figure 16", "Lookups in a hash table",
        "FCP-RCU and RCU both look up with nearly no overhead.",
        "8,192 elements, at rest and while a thread resizes the table without a pause. liburcu's"
        " table and an std::unordered_map in a lock stand beside ours.",
        curves(
            {
                "Lookups": "At rest",
                "Lookups in a table that is resized": "While the table is resized",
            },
            Axis("lookups per second"), Axis("threads"), place=first_number,
        ),
        ("hash_table",),
        judge_resizing_lookups,
        (Contest(MAP, all_others),),
    ),
    Figure(
        "fcp-17", "FCP", "Figures 17, 18", "Grace periods while a hash table is resized",
        "FCP resizes with up to three orders of magnitude shorter grace periods than RCU, and three"
        " times shorter ones than expedited RCU.",
        "The duration of a grace period every 0.1 ms, beside a thread that resizes and one that looks"
        " up; and the number of resizes.",
        bars(WAITS, Axis("ns", log=True), {
            "median": "Grace period, median", "p99": "Grace period, 99th percentile",
        })
        + bars(RESIZES, Axis("resizes per second"), {"1 threads": "Resizes beside one thread"}),
        ("hash_table",),
        judge_resizing,
        (Contest(MAP, lambda name: name == LFHT),),
    ),
    Figure(
        "fcp-19", "FCP", "Figure 19", "Waking many sleepers",
        "Woken in parallel, 90% of 63 threads run within 30,000 cycles, 30 times sooner than from"
        " one wait queue.",
        "The time until a share of the sleepers runs, and the time that the waker is busy, by the"
        " number of sleepers. `by-cpu` is the paper's algorithm with futexes; `broadcast` one futex,"
        " woken by one thread; prwlock and pthread are readers that wait for a writer to unlock.",
        curves(
            ("90% awake", "Half awake", "Waker busy"),
            Axis("us", log=True), Axis("sleepers", log=True), contenders=WAKERS,
        ),
        ("wake_up",),
        judge_wake_up,
        (Contest("shared_mutex", lambda name: name in ("pthread_rwlock", "condvar")),),
    ),
    Figure(
        "fcp-20", "FCP", "Figure 20", "Readers that sleep inside",
        "prwlock gains a lot even when half of the readers sleep inside, and is like rwsem when"
        " all do.",
        "Some of 8 readers sleep in each section: they yield as in the paper, or sleep for 100 us. One"
        " idle thread for each CPU yields all the time, and one thread writes now and then.",
        curves(
            ("Readers, sleepers yield", "Readers, sleepers sleep 100 us"),
            Axis("sections per second", log=True), Axis("sleeping readers"), contenders=DRAWN,
        )
        + curves(
            (
                "Wait of a writer, median, sleepers yield",
                "Wait of a writer, median, sleepers sleep 100 us",
            ),
            Axis("ns", log=True), Axis("sleeping readers"), contenders=DRAWN,
        ),
        ("lock_sleeping_readers",),
        judge_sleeping_readers,
        (LOCKS,),
    ),
    Figure(
        "fcp-21", "FCP", "Figure 21", "Readers and a writer, by the pause between two writes",
        "FCP has the highest writer rate; its readers are as fast as RCU's and notably faster than"
        " brlock's. FCP-RCU's readers are faster than those of signal-based user-level RCU, its"
        " writers by orders of magnitude.",
        "One reader less than CPUs, but at least one, and one writer, where the paper has 63 and"
        " one. Each write of RCU waits for a grace period.",
        tuple(
            Panel(
                table, Axis(unit, log=table == BESIDE_READERS),
                Axis("pause between writes (us)", log=True),
                title=title, place=first_number, benchmark=benchmark, contenders=drawn,
            )
            for benchmark, drawn, title, table, unit in (
                (LOCK_WRITERS, DRAWN, "Locks: readers", BESIDE_WRITER, "sections per second"),
                (LOCK_WRITERS, DRAWN, "Locks: the writer", BESIDE_READERS, "sections per second"),
                (WRITERS, (), "RCU: readers", BESIDE_WRITER, "reads per second"),
                (WRITERS, (), "RCU: the writer", BESIDE_READERS, "writes per second"),
            )
        ),
        (LOCK_WRITERS, WRITERS),
        judge_writer_frequency,
        (LOCKS, RCUS),
    ),
    Figure(
        "fcp-22", "FCP", "Figure 22", "Updates of RCU, by the number that share a grace period",
        "FCP-RCU reaches its peak before the batch size reaches 100, and performs much better than "
        "signal-based RCU below 1,000.",
        "Updates per second of one thread beside readers; liburcu's flavors beside ours.",
        (
            Panel(
                "Updates in batches",
                Axis("updates per second", log=True),
                Axis("batch size", log=True),
                place=first_number,
            ),
        ),
        ("update_throughput",),
        judge_batch_size,
        (RCUS,),
    ),
    Figure(
        "fcp-23", "FCP", "Figure 23", "Kyoto Cabinet, a database in memory",
        "FCP outperforms the original pthread rwlock for all numbers of cores, 7.37 times on 64.",
        "Its own test programs as the distribution ships them, with each lock preloaded: random "
        "operations on two of its databases, and lookups.",
        tuple(
            Panel(table, Axis(unit), Axis("threads"))
            for _, table, unit in KYOTO_CABINET
        ),
        ("kyoto_cabinet",),
        judge_kyoto_cabinet,
        (LOCKS,),
    ),
    Figure(
        "fcp-8.4", "FCP", "Section 8.4", "Programs of one thread",
        "Building Linux takes 64.5 s with prwlock and 64.4 s without: no impact.",
        "The time of a compiler for a part of GoogleTest, and of two programs of one thread that take"
        " rwlocks, with each lock preloaded.",
        bars("Programs of one thread", Axis("s"), {
            name: name
            for name in ("compile GoogleTest", "Kyoto Cabinet, wicked", "Python, OpenSSL digests")
        }),
        ("single_thread_impact",),
        judge_single_thread,
        (Contest(PRWLOCK, lambda name: name == "pthread"),),
    ),
)

# SPDX-License-Identifier: Apache-2.0
"""Every figure of the part "On machines you do not have", in the order of the papers."""

from ..figures.figure import Axis
from ..figures.places import first_number
from .figure import Measured, Panel, Run, Simulated, cycles, distribution, per_second

OPTERON, XEON, BIG_XEON, PENTIUM = "opteron-6274x4", "e5-2699v3x2", "e7-8895v3x4", "p3-700x4"
BRAVO_THREADS = (1, 2, 8, 18, 36, 72)
BRAVO_LOCKS = (
    "readmost", "glibc-like", "bravo-glibc", "bravo-glibc-paper", "ba", "bravo-ba", "bravo-ba-paper", "per-cpu",
    "cohort-rw",
)
FCP_THREADS = (1, 2, 8, 16, 32, 64)
FCP_LOCKS = ("readmost", "brlock", "rmlock", "glibc-like")
THREADS = Axis("threads", log=True)
ALL_OPERATIONS = per_second("reads", "writes")
READS, WRITES = per_second("reads"), per_second("writes")
KERNEL = "A program over a lock inside the kernel, in a kernel patched for it: no workload stands for that."


def few(row):
    """The points of 1 and 2 threads, which have a CPU of their own."""
    return row.x if row.x in (1, 2) else None


def of_names(places):
    return lambda row: places.get(row.name)


def scaled(times):
    """The number in the row's name, in the panel's unit; 0 has no place on a logarithmic axis."""
    return lambda row: (row.x if row.x is not None else first_number(row.name)) * times or None


def few_by_name(row):
    threads = first_number(row.name)
    return threads if threads in (1, 2) else None


def updates(result, batch):
    """Of grace periods that so many share."""
    return ((batch, batch * WRITES(result, batch)[0][1]),)


def sweep(figure, label, title, table, workload, shows, options=(), benchmark="", **more):
    """A figure of BRAVO's: throughput by threads."""
    return Simulated(
        figure, "BRAVO", label, title, XEON,
        shows + " The paper's BRAVO is drawn as -paper, beside the library's, whose policy differs.",
        (
            Panel(
                table, Axis("operations per second", log=True), THREADS, ALL_OPERATIONS,
                measured=(Measured(benchmark, table, few),) if benchmark else (),
            ),
        ),
        (Run(workload, BRAVO_LOCKS, BRAVO_THREADS, options, **{"seconds": 4.5, **more}),),
    )


def rwbench(letter, probability, words):
    rare = ("--writes-in", f"{1 / probability:.0f}")
    return sweep(
        f"bravo-4{letter}", f"Figure 4{letter}", f"RWBench, {words} write",
        f"RWBench, P = {probability:g}", "rwbench",
        "Loops per second of all threads; `--writes-in` is the workload's only difference from its"
        " neighbours.",
        ("--reads-in", "10") if probability == 0.9 else rare, "rwbench_locks",
    )


# The programs of FCP's Figures 12 to 14, and how many of their operations one writes.
MAPPED = (("Histogram", 10_000), ("Metis", 400), ("Psearchy", 16))


def address_space():
    """Programs that fault and map under mmap_sem: throughput by threads."""
    return Simulated(
        "fcp-12", "FCP", "Figures 12 to 14", "Histogram, Metis and Psearchy, three mixes", OPTERON,
        "The kernel's locks cannot run on the simulated machine. The library's stand for them, pthread for rwsem, and"
        " mixes for the programs: one write in 10,000, 400 and 16 operations, 2,000 cycles inside and 4,000 outside."
        " The paper prints the last proportion, and calls the others small and medium. Memory's bandwidth, at which"
        " its Histogram stops scaling, is not simulated.",
        tuple(
            Panel(
                program, Axis("times as many as pthread"), THREADS, ALL_OPERATIONS, unit="times",
                relative_to="pthread",
            )
            for program, _ in MAPPED
        ),
        tuple(
            Run("mix", ("readmost", "percpu-rwlock", "glibc-like"), FCP_THREADS,
                ("--writes-in", str(writes_in), "--inside", "2000", "--pause", "4000"), warm_up=1000, time=2000,
                tables=(program,), seconds=7)
            for program, writes_in in MAPPED
        ),
    )


def will_it_scale():
    """BRAVO over the kernel's semaphore."""
    locks = ("glibc-like", "bravo-glibc", "bravo-glibc-paper", "readmost")
    threads = (1, 2, 8, 16, 72, 142)
    hold = ("--inside", "2000", "--pause", "1000")
    return Simulated(
        "bravo-7", "BRAVO", "Figure 7", "will-it-scale, two mixes", BIG_XEON,
        "The kernel's semaphore cannot run on the simulated machine. The library's locks stand for it, pthread for"
        " rwsem: page_fault is a mix with one write in 16,384 operations, since 128 MB have 32,768 pages and are"
        " mapped and unmapped once; mmap has writes only; 2,000 cycles inside and 1,000 outside. What page faults"
        " share besides the lock is not simulated.",
        tuple(
            Panel(
                program, Axis("times as many as pthread", log=program == "page_fault"), THREADS, ALL_OPERATIONS,
                unit="times", relative_to="pthread", title=f"{program}, relative to pthread",
            )
            for program in ("page_fault", "mmap")
        ),
        (
            Run("mix", locks, threads, ("--writes-in", "16384", *hold), warm_up=800, time=1600,
                tables=("page_fault",), seconds=8),
            Run("mix", locks, threads, ("--writes-in", "1", *hold), warm_up=800, time=1600, tables=("mmap",),
                seconds=12),
        ),
    )


def table_3():
    fast, slow = {"warm_up": 60, "time": 30}, {"warm_up": 350, "time": 30}
    readers, writers = ("A reader",), ("A writer",)
    few_threads = (1, 8, 64)
    return (
        Run("pairs", ("readmost",), few_threads, tables=readers, seconds=6, **slow),
        Run("pairs", ("rmlock", "brlock"), few_threads, tables=readers, seconds=2, **fast),
        Run("pairs", ("glibc-like",), few_threads, tables=readers, seconds=0.3, **slow),
        Run("write-pairs", FCP_LOCKS, (1,), tables=writers, x=1, warm_up=400, time=1000),
        Run("writer-latency", FCP_LOCKS, (8, 64), tables=writers, warm_up=350, time=700, seconds=6),
    )


def panels_of_table_3():
    table, alone, beside = "Lock and unlock, cycles", "reading, alone", "reading, beside readers"
    readers = of_names({alone: 1, beside: 2})
    writers = of_names({"writing, alone": 1, "writing, beside readers": 2})
    return tuple(
        Panel(
            name, Axis("cycles", log=True), Axis(what, log=True), cycles(kind, "p50"), "less", "cycles",
            title=title, measured=(Measured("critical_section", table, place),),
        )
        for name, title, kind, what, place in (
            ("A reader", "A reader, by the number of readers", "reads", "readers", readers),
            ("A writer", "A writer, by all threads", "writes", "threads, one of which writes", writers),
        )
    )


def by_pause():
    """(cycles between two writes, simulated microseconds)"""
    for between, time in ((1_000, 300), (10_000, 300), (100_000, 500), (1_000_000, 1000)):
        yield Run(
            "writer-latency", FCP_LOCKS, (64,), ("--between", str(between)), x=between, warm_up=300,
            time=time, seconds=1 + between / 150_000,
        )
        yield Run(
            "grace-period", (), (64,), ("--batch", str(between // 100)), x=between, warm_up=300,
            time=min(time, 1000), called="readmost::rcu", seconds=2,
        )


def measured_by_pause(table):
    """In cycles of a machine of 2.2 GHz, for microseconds here."""
    return (
        Measured("lock_writer_frequency", table, scaled(2200)),
        Measured("writer_frequency", table, scaled(2200), ("readmost::rcu",)),
    )


FCP = (
    Simulated(
        "fcp-1", "FCP", "Figure 1", "How soon a write is visible without a message", OPTERON,
        "One thread stores every 4,000 cycles, 63 look at random times: how long after the store the reads of"
        " the older value came, of so many percent of them. In the simulation a line leaves its sharers when the"
        " store asks for it, so what remains is the time in the store buffer: less than in any machine.",
        (
            Panel(
                "Time until a store is seen", Axis("cycles"), Axis("stale reads, %"), distribution("reads"), "less",
                "cycles",
                measured=(
                    Measured("staleness", "Readers that have seen a new version", transposed=True, times=2.2),
                ),
            ),
        ),
        (Run("staleness", (), (64,), warm_up=100, time=2000, called="memory", seconds=2),),
    ),
    Simulated(
        "fcp-table2", "FCP", "Table 2", "The cost of a message", OPTERON, "", why=
        "The 1,316 cycles of an interrupt are an input of the machine's description, so that its simulation"
        " confirms nothing.",
    ),
    Simulated(
        "fcp-table3", "FCP", "Table 3", "Lock and unlock, reading and writing", OPTERON,
        "Median of lock and unlock around a section of one cycle, and of a writer that comes every 300,000"
        " cycles among readers. The paper's locks are the kernel's, these are the repository's; pthread"
        " stands for rwsem. A curve that ends early: no writer got in.",
        panels_of_table_3(), table_3(),
    ),
    address_space(),
    Simulated("fcp-15", "FCP", "Figure 15", "What parallel wake-up brings Histogram", OPTERON, "", why=
              KERNEL + " Figure 19 has the wake-up itself."),
    Simulated(
        "fcp-16", "FCP", "Figure 16", "Lookups in a hash table", OPTERON,
        "All threads search a table of 64 elements, and replace one in 10,000 times; the same table under"
        " a lock stands beside the library's map under RCU.",
        (
            Panel(
                "Lookups", Axis("lookups per second", log=True), THREADS, READS,
                measured=(Measured("hash_table", "Lookups", few_by_name),),
            ),
        ),
        (
            Run("rcu-hash-table", (), FCP_THREADS, ("--writes-in", "10000"), called="readmost::rcu_hash_map",
                warm_up=100, time=100, seconds=4),
            Run("hash-table", ("readmost", "glibc-like"), FCP_THREADS, ("--writes-in", "10000"), warm_up=300,
                time=200, seconds=4),
        ),
    ),
    Simulated(
        "fcp-17", "FCP", "Figures 17, 18", "Grace periods beside readers", OPTERON,
        "One thread waits for grace periods, the others read. The paper compares three kernel's RCUs, which"
        " are not simulated, and prints ratios between them only. Figure 18's machine is not described.",
        (
            Panel(
                "Grace period", Axis("cycles", log=True), THREADS, cycles("writes", "p50"), "less", "cycles",
                title="Grace period, median",
            ),
        ),
        (Run("grace-period", (), (2, 8, 16, 32, 64), called="readmost::rcu", seconds=3),),
    ),
    Simulated(
        "fcp-19", "FCP", "Figure 19", "Waking many sleepers", OPTERON,
        "Readers that wait for a writer to leave; how long after that 90% of them are in. prwlock stands for"
        " the paper's parallel wake-up, pthread for Linux's wait queue; what it costs to wake a thread was"
        " derived from this figure, so pthread's agreement is no news.",
        (
            Panel(
                "90% awake", Axis("cycles", log=True), Axis("sleepers", log=True), cycles("reads", "p90"), "less",
                "cycles",
            ),
        ),
        tuple(
            Run("wake-up", ("readmost", "glibc-like"), (sleepers + 1,), x=sleepers, time=6000, seconds=2)
            for sleepers in (1, 7, 31, 63)
        ),
    ),
    Simulated(
        "fcp-20", "FCP", "Figure 20", "Readers that sleep inside", OPTERON,
        "63 readers, of which some sleep 20,000 cycles in each section, and a writer every 300,000 cycles.",
        (
            Panel(
                "Readers", Axis("sections per second", log=True), Axis("sleeping readers"), READS,
                unit="sections per second",
            ),
        ),
        tuple(
            Run("sleeping-readers", ("readmost", "brlock", "glibc-like"), (64,), ("--asleep", str(asleep)), x=asleep,
                warm_up=300, time=600, seconds=2)
            for asleep in (0, 16, 32, 48, 63)
        ),
    ),
    Simulated(
        "fcp-21", "FCP", "Figure 21", "Readers and a writer, by the pause between two writes", OPTERON,
        "63 readers and one writer; each update of RCU waits for a grace period. Measured here: one reader and"
        " one writer.",
        tuple(
            Panel(
                table, Axis("sections per second", log=True), Axis("cycles between writes", log=True), value,
                unit="sections per second", measured=measured_by_pause(beside),
            )
            for table, beside, value in (
                ("Readers", "Readers beside a writer", READS),
                ("The writer", "A writer beside readers", WRITES),
            )
        ),
        tuple(by_pause()),
    ),
    Simulated(
        "fcp-22", "FCP", "Figure 22", "Updates of RCU, by the number that share a grace period", OPTERON,
        "One thread updates beside 63 readers, each update 100 cycles, and waits for a grace period after so"
        " many. The paper's signal-based RCU is not simulated.",
        (
            Panel(
                "Updates", Axis("updates per second", log=True), Axis("batch size", log=True), updates,
                unit="updates per second",
                measured=(Measured("update_throughput", "Updates in batches", scaled(1)),),
            ),
        ),
        tuple(
            Run("grace-period", (), (64,), ("--batch", str(batch)), x=batch, warm_up=100,
                time=400 if batch < 1000 else 2000, called="readmost::rcu", seconds=2.5)
            for batch in (1, 10, 100, 1000)
        ),
    ),
    Simulated(
        "fcp-23", "FCP", "Figure 23", "Kyoto Cabinet, a database in memory", OPTERON,
        "A mix stands for the database, which the paper does not describe: one write in 10,000 operations, 500"
        " cycles inside and 500 outside. The factor depends on those.",
        (
            Panel(
                "Operations, relative to pthread", Axis("times as many as pthread"), THREADS, ALL_OPERATIONS,
                unit="times", relative_to="pthread",
                measured=(Measured("kyoto_cabinet", "Kyoto Cabinet CacheDB, lookups", few, is_relative=True),),
            ),
        ),
        (Run("mix", ("readmost", "glibc-like", "bravo-glibc"), FCP_THREADS,
             ("--writes-in", "10000", "--inside", "500", "--pause", "500"), warm_up=800, time=800, seconds=3),),
    ),
)

BRAVO = (
    Simulated(
        "bravo-1", "BRAVO", "Figure 1", "Interference between locks", XEON,
        "64 threads read locks at random, 160 cycles inside and 800 outside, with the paper's policy over BA."
        " Locks up to 1,024; the size of caches, which the paper names as a confounding factor, is not"
        " simulated.",
        (
            Panel(
                "Shared table, relative to a table for each lock", Axis("share"), Axis("locks", log=True),
                ALL_OPERATIONS, unit="share", relative_to="bravo-ba-own-table",
                measured=(Measured("lock_interference", "Inter-lock interference"),),
            ),
        ),
        tuple(
            Run("mix", ("bravo-ba-paper", "bravo-ba-own-table"), (64,),
                ("--writes-in", "1000000000", "--inside", "160", "--pause", "800", "--among", str(locks)), x=locks,
                warm_up=200 + locks, time=200)
            for locks in (1, 8, 64, 512, 1024)
        ),
    ),
    sweep("bravo-2", "Figure 2", "Alternator", "Alternator", "alternator",
          "Turns per second of a ring of threads, one of which reads at a time.", benchmark="alternator",
          warm_up=60, time=60),
    sweep("bravo-3", "Figure 3", "test_rwlock", "test_rwlock", "test-rwlock",
          "One of the threads writes for 10 cycles and pauses for 1,000, the others read for 10 without a"
          " pause.", benchmark="test_rwlock", warm_up=200, time=200),
    rwbench("a", 0.9, "9 of 10 operations"),
    rwbench("b", 0.5, "half of the operations"),
    rwbench("c", 0.1, "1 of 10 operations"),
    rwbench("d", 0.01, "1 of 100 operations"),
    rwbench("e", 0.001, "1 of 1,000 operations"),
    rwbench("f", 0.0001, "1 of 10,000 operations"),
    sweep("bravo-5", "Figure 5", "readwhilewriting of RocksDB", "A writer beside readers", "writer-latency",
          "A stand-in for the database: one thread writes every 20,000 cycles, the others read for 100 with as"
          " long pauses. Operations of both together.", ("--between", "20000")),
    sweep("bravo-6", "Figure 6", "hash_table_bench of RocksDB", "hash_table_bench", "hash-table-bench",
          "One thread inserts, one erases, the others search, all without a pause; all operations together.",
          benchmark="hash_table_bench"),
    will_it_scale(),
)


def table_of(update_share):
    """The options of the share of updates, 0 to 1."""
    if update_share == 0:
        return ("--writes-in", "1000000000")
    if update_share > 0.5:
        return ("--reads-in", "10") if update_share < 1 else ("--writes-in", "1")
    return ("--writes-in", f"{1 / update_share:.0f}")


SEARCHES = "Searches, 32 buckets"
OPERATIONS = "Operations by share of updates"
P3_LOCKS = ("readmost", "brlock", "glibc-like")
MAP = "readmost::rcu_hash_map"
READ_ONLY = table_of(0)
RCU = (
    Simulated("rcu-table1", "RCU", "Table 1", "The cost of operations", PENTIUM, "", why=
              "The table's figures are inputs of the machine's description, so that its simulation confirms"
              " nothing."),
    Simulated(
        "rcu-2", "RCU", "Figure 2", "Searches in a hash table under locks", PENTIUM,
        "A table of 32 buckets that fits the cache; the larger one needs caches of finite size, which are not"
        " simulated, nor are hazard pointers. ideal does without a lock. pthread stands for the global"
        " reader-writer lock.",
        (
            Panel(
                SEARCHES, Axis("searches per second"), Axis("threads"), READS, unit="searches per second",
                measured=(Measured("rcu_hash_table", SEARCHES, few),),
            ),
        ),
        (
            Run("hash-table", P3_LOCKS, (1, 2, 3, 4), READ_ONLY, warm_up=1000, time=1000),
            Run("hash-table", ("none",), (1,), READ_ONLY, called="ideal", copies=(1, 2, 3, 4), time=1000),
        ),
    ),
    Simulated(
        "rcu-6", "RCU", "Figure 6", "Searches in a hash table under RCU", PENTIUM,
        "As Figure 2, with the library's rcu_hash_map, whose buckets are not the paper's chains.",
        (
            Panel(
                SEARCHES, Axis("searches per second"), Axis("threads"), READS, unit="searches per second",
                measured=(Measured("rcu_hash_table", SEARCHES, few),),
            ),
        ),
        (
            Run("rcu-hash-table", (), (1, 2, 3, 4), READ_ONLY, called=MAP, warm_up=1000, time=1000),
            Run("hash-table", ("none",), (1,), READ_ONLY, called="ideal", copies=(1, 2, 3, 4), time=1000),
        ),
    ),
    Simulated("rcu-26", "RCU", "Figure 26, Table 6", "DBT1, a database benchmark", PENTIUM, "", why=KERNEL),
    Simulated(
        "rcu-27", "RCU", "Figure 27", "A hash table, by the share of updates", PENTIUM,
        "Four CPUs, 32 buckets. The library's map copies an element to change it; the paper's chains have a"
        " spinlock for each bucket, and its other contenders are not simulated.",
        (
            Panel(
                OPERATIONS, Axis("operations per second", log=True), Axis("share of updates"), ALL_OPERATIONS,
                unit="operations per second",
                measured=(Measured("rcu_hash_table", "Searches and updates, 32 buckets"),),
            ),
        ),
        tuple(
            run
            for share in (0, 0.01, 0.1, 0.5, 0.9, 1)
            for run in (
                Run("rcu-hash-table", (), (4,), table_of(share), x=share, called=MAP, warm_up=1000, time=1000),
                Run("hash-table", P3_LOCKS, (4,), table_of(share), x=share, warm_up=1000, time=1000),
                Run("hash-table", ("none",), (1,), table_of(share), x=share, called="ideal", copies=(4,), time=1000),
            )
        ),
    ),
    *(
        Simulated(
            figure, "RCU", label, title, PENTIUM,
            "The formulas of `readmost advise --contours`, with the costs of the library's RCU simulated on the"
            " paper's machine: the share of updates up to which one is cheaper than another. The figure of"
            " the same number in the first part has the paper's own costs.",
            tuple(
                Panel(
                    f"{rate:g} updates per CPU and grace period, {by}", Axis("share of updates"), Axis(what, log=True),
                    None, unit="share", better="neither",
                )
                for rate in (0.1, 10)
            ),
            contours=True,
        )
        for figure, label, title, by, what in (
            ("rcu-28", "Figure 28", "Break-even, by CPUs", "by CPUs", "CPUs"),
            ("rcu-29", "Figure 29", "Break-even, by memory latency", "by latency",
             "latency between CPUs, times the machine's"),
        )
    ),
)

ALL = (*FCP, *BRAVO, *RCU)


def named(name):
    """The simulated figures of that name: all of them, one, or those of a paper."""
    if name in ("all", "simulated"):
        return list(ALL)
    return [figure for figure in ALL if name in (figure.name, f"simulated-{figure.paper.lower()}")]


def names():
    papers = dict.fromkeys(f"simulated-{figure.paper.lower()}" for figure in ALL)
    return ["simulated", *papers, *(figure.name for figure in ALL)]

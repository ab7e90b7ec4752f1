# SPDX-License-Identifier: Apache-2.0
"""Figures that no paper has and that matter to users."""

from ..contenders import PRELOADED, PRWLOCK, rivals_of_lock, rivals_of_rcu
from .figure import Axis, Contest, Figure, Panel, bars, curves
from .judging import Check, at_least, decide, named, never_below
from .programs import PROGRAM_BENCHMARKS, judge_programs

RCU = "readmost::rcu"
MEMB = "liburcu-memb"
HAZARD = "readmost::hazard_pointer"
LOCKS = Contest(PRWLOCK, rivals_of_lock)
RECLAMATION = (Contest(RCU, rivals_of_rcu), Contest(HAZARD, lambda name: name == "hazard-fenced"))

PROGRAMS = (
    "Node.js, parse a PEM key",
    "RE2, one object in all threads",
    "std::pmr pool, allocate and free",
    "OpenSSL, fetch digest and cipher",
    "OpenSSL, parse a certificate",
)
MAPS = {
    "std::shared_mutex map, reads only": "Reads only",
    "std::shared_mutex map, 1 write in 1000": "1 write in 1000 operations",
    "std::shared_mutex map, 1 write in 4": "1 write in 4 operations",
}
GRACE_PERIODS = {
    of: f"Grace period, {of}"
    for of in (
        "no reader",
        "a reader without a pause",
        "64 threads asleep that have read",
        "4 readers that sleep inside now and then",
    )
}
WRITE_LATENCIES = (
    "Write lock against a reader without a pause, every 10 us",
    "Write lock against a reader without a pause, every 200 us",
    "Write lock among 64 idle threads that have read",
    "Write lock after 4 readers slept inside, from the last one's leaving",
)
LONGEST_WAITS = {
    "a writer, reads of 50 us": "A writer while a reader holds the lock for 50 us at a time",
    "a writer, reads of 1 ms": "A writer while a reader holds it for 1 ms",
    "a reader, writes of 1 ms": "A reader while a writer holds it for 1 ms",
}
RETIRE_LATENCIES = tuple(
    f"{what}, {readers}"
    for what in ("Retire to deleter", "rcu_barrier after 1000 objects")
    for readers in ("no reader", "a reader without a pause")
)
FLOOD = "A flood of retired objects"
BESIDE_STALLED = ", a reader stands still"
STRUCTURES = {
    f"{structure}, {mix}{beside}": f"{keys}, {share}{beside}"
    for structure, keys in (
        ("List", "List, 512 keys"), ("Map", "Hash map, 65,536 keys"), ("Tree", "Tree, 65,536 keys"),
        ("Skip list", "Skip list, 65,536 keys"),
    )
    for mix, share in (("reads", "10% changes"), ("changes", "changes alone"))
    for beside in ("", BESIDE_STALLED)
}
UNDISTURBED = {
    table: title for table, title in STRUCTURES.items() if not table.endswith(BESIDE_STALLED)
}
STALLED = {
    table: title.removesuffix(BESIDE_STALLED)
    for table, title in STRUCTURES.items() if table.endswith(BESIDE_STALLED)
}
PROBABILITIES = (0.5, 0.1, 0.01, 0.001, 0.0001)
PATTERNS = {
    f"{pattern}, 1 write in 1000": pattern
    for pattern in (
        "Pure RCU",
        "Reader-Writer-Lock/RCU Analogy",
        "RCU Existence Locks",
        "RCU Readers With NBS Writers",
        "Mark Obsolete Objects",
        "Substitute Copy For Original",
        "Impose Level Of Indirection",
        "Global Version Number",
    )
}
STALLS = "Stall Updates, reads"
POLICIES = ("default", "pthread", "paper", "consensus", "scalar scan", "one probe", "private table")


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


def judge_lock_operations(found):
    table, row = "Lock and unlock", "reading, each of two threads"
    return decide(
        [at_least(found, table, row, ours, "pthread", 1) for ours in (PRWLOCK, PRELOADED)]
    )


def judge_write_latency(found):
    return decide(
        [
            named(table, at_least(found, table, "median", PRWLOCK, "pthread", 1))
            for table in WRITE_LATENCIES
        ]
    )


def judge_longest_wait(found):
    """Under reader preference, which is that of glibc's lock and of a preloaded one by default."""
    return decide(
        [
            at_least(found, "Longest waits", f"{who}: longest", ours, "pthread", 0.5, f"({who})")
            for who in LONGEST_WAITS
            for ours in ("prwlock-reader", PRELOADED)
        ]
    )


def judge_rwbench(found):
    tables = [rwbench(p) for p in PROBABILITIES[1:]]
    return decide(
        [
            named(table, never_below(found, table, found.places(table), PRWLOCK, "pthread", 0.95))
            for table in tables
        ]
    )


def judge_map(found):
    return decide(
        [
            named(title, never_below(found, table, found.places(table), PRWLOCK, "pthread", 0.95))
            for table, title in MAPS.items()
        ]
    )


def judge_retire(found):
    checks = [
        named(table, at_least(found, table, "median", RCU, MEMB, 1)) for table in RETIRE_LATENCIES
    ]
    flood = "retire_flood"
    checks += [
        named(row, at_least(found, FLOOD, row, RCU, MEMB, 1, benchmark=flood))
        for row in ("peak of memory", "each")
    ]
    return decide(checks)


def _on_all_cpus(found, table):
    return found.places_on_cpus(table)[-1]


def _worst_structure(found, tables, ours, other):
    def times(table):
        return found.times(table, _on_all_cpus(found, table), ours, other).median

    table = min(tables, key=times)
    check = at_least(found, table, _on_all_cpus(found, table), ours, other, 0.95)
    return named(STRUCTURES[table], check)


def judge_reclamation(found):
    return decide([
        _worst_structure(found, UNDISTURBED, RCU, MEMB),
        _worst_structure(found, UNDISTURBED, HAZARD, "hazard-fenced"),
    ])


def judge_stalled(found):
    return decide([_worst_structure(found, STALLED, HAZARD, "hazard-fenced")])


def judge_waiting(found):
    def waiting(policy):
        return max(
            found.median(f"{table}: waiting", _on_all_cpus(found, table), policy) for table in STALLED
        )

    kept = {policy: waiting(policy) for policy in (HAZARD, "epochs", RCU)}
    return decide(
        [
            Check(
                kept[HAZARD] <= 0.1 * kept["epochs"],
                f"beside a reader that stands still up to {kept[HAZARD] / 2**20:.3g} MiB wait under"
                f" hazard pointers, {kept['epochs'] / 2**20:.3g} under epochs and"
                f" {kept[RCU] / 2**20:.3g} under RCU, whose limit is 65,536 objects",
            ),
        ]
    )


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


def judge_patterns(found):
    def place(table):
        return found.places_on_cpus(table)[-1]

    def times(table):
        return found.times(table, place(table), "after", "before").median

    worst = min(PATTERNS, key=times)
    least = at_least(found, worst, place(worst), "after", "before", 1)
    stalls = at_least(found, STALLS, 1, "after", "before", 1)
    return decide(
        [named(f"{PATTERNS[worst]}, the worst", least), named("Stall Updates", stalls)],
        "docs/patterns says which patterns need more contention than there is here.",
    )


# The plot in README: a map under std::shared_mutex in an unchanged program.
MAIN_RESULT_BENCHMARK = "real_programs"
MAIN_RESULT_NAMES = {"pthread": "glibc", PRWLOCK: "Readmost, preloaded"}
MAIN_RESULT = curves(
    MAPS, Axis("operations per second"), Axis("threads"), contenders=tuple(MAIN_RESULT_NAMES),
)

FIGURES = (
    Figure(
        "own-lock-operations", "Readmost", "", "Operations of a lock beside those of other libraries",
        "A read lock costs no more than pthread's for each of two threads, also when it is preloaded"
        " under pthread's.",
        "A pair of lock and unlock around an empty section; upgrades and downgrades with theirs, for"
        " the locks that have them. `empty` is the loop without a lock, `preloaded` pthread's lock"
        " with the library preloaded.",
        bars("Lock and unlock", Axis("ns"), {
            "reading, each of two threads": "Reading, each of two threads",
            "upgrading, alone": "Read lock, upgrade, unlock",
            "downgrading, alone": "Write lock, downgrade, unlock",
        }),
        ("critical_section",),
        judge_lock_operations,
        (LOCKS,),
    ),
    Figure(
        "own-write-latency", "Readmost", "", "How long a writer waits for the lock",
        "A writer waits no longer than with pthread's lock.",
        "From the call until the lock is held. Only Readmost's writers pay for threads that have read"
        " and do no more: the price of readers that write no shared memory.",
        tuple(
            Panel(table, Axis("ns, median", log=True), rows=("median",)) for table in WRITE_LATENCIES
        ),
        ("write_latency",),
        judge_write_latency,
        (LOCKS,),
    ),
    Figure(
        "own-longest-wait", "Readmost", "", "Longest waits",
        "Under reader preference the longest wait is at most twice that of pthread's lock.",
        "One thread holds the lock again and again without a pause; another one asks for it about every"
        " millisecond. `prwlock` prefers writers; `preloaded` is pthread's lock with the library"
        " preloaded, which prefers readers; the others have their preference in their name. A lock under"
        " which the second thread starves shows the length of the measurement.",
        (
            *bars("Longest waits", Axis("us, longest", log=True), {
                f"{who}: longest": title for who, title in LONGEST_WAITS.items()
            }),
            *bars("Longest waits", Axis("us", log=True), {
                f"a writer, reads of 50 us: {share}": f"The first of these, {share}"
                for share in ("p99", "p90", "median")
            }),
        ),
        ("longest_wait",),
        judge_longest_wait,
        (LOCKS,),
    ),
    Figure(
        "own-rwbench", "Readmost", "", "RWBench with the library preloaded",
        "With prwlock preloaded it is never below 0.95 of glibc's lock when at most 1 in 10 writes.",
        "RWBench of the BRAVO paper with pthread_rwlock_t, by threads and the probability of a write.",
        curves(map(rwbench, PROBABILITIES), Axis("loops per second"), Axis("threads")),
        ("rwbench_preloaded",),
        judge_rwbench,
        (LOCKS,),
    ),
    Figure(
        "own-retire", "Readmost", "", "How soon retired objects are reclaimed",
        "No later than with liburcu's default flavor, and a flood of retired objects takes less"
        " memory.",
        "From rcu_retire or call_rcu to the deleter, and rcu_barrier after 1000 objects; the growth of"
        " the process and the time of each object when a thread retires 10 million without a pause.",
        (
            *(Panel(table, Axis("ns, median", log=True), rows=("median",)) for table in RETIRE_LATENCIES),
            Panel(
                FLOOD, Axis("MiB"), title="A flood: growth of memory", rows=("peak of memory",),
                benchmark="retire_flood",
            ),
            Panel(
                FLOOD, Axis("ns"), title="A flood: time of each object", rows=("each",),
                benchmark="retire_flood",
            ),
        ),
        ("retire_latency", "retire_flood"),
        judge_retire,
        (Contest(RCU, rivals_of_rcu),),
    ),
    Figure(
        "own-bravo", "Readmost", "", "BRAVO over pthread, one part of its policy changed at a time",
        "Over pthread it is never below 0.95 of pthread, and at least twice as good when 1 of"
        " 10,000 write with two threads; a scan takes at most 0.3 ns a slot.",
        "Lock and unlock through a slot (biased) and through the lock underneath, writing with a"
        " revocation and without; RWBench; and scans of the table of visible readers.",
        (
            *bars("Lock and unlock", Axis("ns"), {
                "read, biased": "Reading, biased",
                "read, unbiased": "Reading, not biased",
                "write, with a revocation": "Writing, with a revocation",
                "write, without": "Writing, without a revocation",
            }),
            *curves(
                map(rwbench, PROBABILITIES), Axis("loops per second"), Axis("threads"),
                contenders=POLICIES,
            ),
            Panel("Scan", Axis("ns per slot", log=True), Axis("slots", log=True)),
        ),
        ("bravo_policies",),
        judge_policies,
    ),
    Figure(
        "own-programs", "Readmost", "", "Real programs",
        "No program becomes slower with prwlock preloaded.",
        "Programs and libraries as the distribution ships them, with each lock preloaded. The claim is"
        " about all programs: those of FCP's Figure 23 and Section 8.4 and of BRAVO's Figure 5 count too.",
        curves(PROGRAMS, Axis("operations per second"), Axis("threads")),
        ("real_programs",),
        judge_programs,
        (LOCKS,),
        judged_with=PROGRAM_BENCHMARKS,
    ),
    Figure(
        "own-map", "Readmost", "", "A map under std::shared_mutex",
        "With prwlock preloaded it is never below 0.95 of glibc's lock.",
        "Operations on one map, by threads and the share of writes, with each lock preloaded.",
        curves(MAPS, Axis("operations per second"), Axis("threads")),
        ("real_programs",),
        judge_map,
        (LOCKS,),
    ),
    Figure(
        "own-read-section", "Readmost", "", "A read section with a pointer's load and a read",
        "RCU's readers cost no more than those of liburcu's default flavor.",
        "Time for each of one and of two threads: RCU, hazard pointers, reader-writer locks.",
        bars("Read section", Axis("ns"), {"1": "One thread", "2": "Each of two threads"}),
        ("rcu_read_pair",),
        judge_read_section,
        (Contest(RCU, rivals_of_rcu),),
    ),
    Figure(
        "own-grace-period", "Readmost", "", "The duration of a grace period",
        "Never longer than with liburcu's default flavor.",
        "rcu_synchronize against no reader, one without a pause, many that sleep, and some that"
        " sleep inside.",
        tuple(
            Panel(table, Axis("ns, median", log=True), rows=("median",))
            for table in GRACE_PERIODS.values()
        ),
        ("grace_period",),
        judge_grace_period,
        (Contest(RCU, rivals_of_rcu),),
    ),
    Figure(
        "own-reclamation", "Readmost", "", "Lock-free structures by policy of reclamation",
        "RCU is as fast as liburcu, hazard pointers as those with a fence.",
        "The structures of smr-benchmark and pop_setbench, written anew: operations per second.",
        curves(UNDISTURBED, Axis("operations per second"), Axis("threads")),
        ("reclamation_stress",),
        judge_reclamation,
        RECLAMATION,
    ),
    Figure(
        "own-reclamation-stalled", "Readmost", "", "Lock-free structures beside a reader that stands still",
        "Hazard pointers stay as fast as those with a fence.",
        "Operations per second while one more thread stays inside one operation.",
        curves(STALLED, Axis("operations per second"), Axis("threads")),
        ("reclamation_stress",),
        judge_stalled,
        RECLAMATION,
    ),
    Figure(
        "own-reclamation-waiting", "Readmost", "", "What waits behind a reader that stands still",
        "A reader that stands still keeps few objects under hazard pointers.",
        "The most bytes of removed nodes that waited at a time while one more thread stays inside one"
        " operation.",
        curves(
            {f"{table}: waiting": title for table, title in STALLED.items()},
            Axis("bytes", log=True), Axis("threads"),
        ),
        ("reclamation_stress",),
        judge_waiting,
    ),
    Figure(
        "own-patterns", "Readmost", "", "The patterns of RCU, before and after",
        "Each pattern makes its program faster on as many threads as have a CPU.",
        "The programs of examples/rcu by number of threads, with 1 write in 1000 operations, in the"
        " form before the pattern is applied and after it. For Stall Updates: reads beside one"
        " thread that updates without a pause, by number of readers.",
        (
            *curves(PATTERNS, Axis("operations per second"), Axis("threads")),
            Panel(STALLS, Axis("reads per second", log=True), Axis("readers"), title="Stall Updates"),
        ),
        ("rcu_patterns",),
        judge_patterns,
    ),
)

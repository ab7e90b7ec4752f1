# SPDX-License-Identifier: Apache-2.0
"""Results of an imaginary machine with every row of every figure."""

import json
import random
from pathlib import Path

from evaluation import benchmarks, contenders, figures, simulated
from evaluation.figures import own
from evaluation.simulated import running as simulating

MACHINE = {
    "processor": "Imaginary 9000",
    "cpus": 2,
    "kernel": "Linux 6.1",
    "architecture": "x86_64",
    "membarrier": True,
    "virtual": True,
    "memory_gib": 24.0,
}
THREADS = (1, 2, 4, 8)
FEW = (1, 2, 8)
SHARES = (0, 0.01, 0.1, 0.3, 0.5, 0.9, 1)
PAUSES = (0, 1, 10, 100, 1000, 10000)
LOCKS = (*contenders.BRAVO, "brlock", *contenders.STRONG)
TABLES = (
    "readmost::rcu", "ideal", "liburcu-memb", "hazard-fenced", "prwlock", "brlock", "pthread",
    "spinlock-per-bucket", "global-lock",
)
MAPS = (
    "readmost::rcu_hash_map", "liburcu-cds_lfht", "map-in-readmost::shared_mutex",
    "map-in-std::shared_mutex",
)
RECLAMATION = (
    "readmost::rcu", "readmost::hazard_pointer", "liburcu-memb", "epochs", "hazard-fenced", "none",
)
WAKERS = ("broadcast", "condvar", "by-cpu-words", "shared_mutex", "pthread_rwlock")
WRITERS = ("readmost::rcu", "liburcu-memb", "liburcu-qsbr", "readmost::shared_mutex", "brlock")
POLICIES = ("default", "pthread", "paper", "consensus", "one probe")
OPERATIONS = (
    "instruction", "atomic increment", "main memory", "cmpxchg, blind cache transfer",
    "cmpxchg, cache transfer and invalidate",
)
RARE = tuple(f"RWBench, P = {p:g}" for p in (0.5, 0.1, 0.01, 0.001, 0.0001))
BREAK_EVEN = tuple(
    f"Break-even share of updates by {by}, {rate:g} updates per CPU and grace period, {machine}"
    for by in ("CPUs", "memory-latency ratio")
    for rate in (0.1, 10)
    for machine in ("this machine", "the paper's machine")
)


def tables_of(name):
    (figure,) = figures.named(name)
    return tuple(panel.table for panel in figure.panels)


# By benchmark: (tables, places or names, contenders, unit, better)
SHAPES = {
    "staleness": [
        (("Readers that have seen a new version",), (20, 100, 200, 1000, 20000),
         ("memory", "sections", "rests of 1 us"), "%", "more"),
    ],
    "message_cost": [
        (("Cost of a message",), (0, 1), ("membarrier", "signal"), "ns", "less"),
        (("Cost of a message in clock cycles",), (0, 1), ("membarrier",), "cycles", "neither"),
    ],
    "critical_section": [
        (("Lock and unlock", "Lock and unlock, cycles"),
         ("reading, alone", "reading, each of two threads", "reading, beside readers",
          "writing, alone", "writing, beside readers", "upgrading, alone", "downgrading, alone"),
         (*LOCKS, "preloaded"), "ns", "less"),
        (("Efficiency of a section, reading", "Efficiency of a section, writing"), (10, 100, 1000),
         LOCKS, "share of time", "more"),
    ],
    "hash_table": [
        (("Lookups", "Lookups in a table that is resized", "Resizes beside lookups"),
         ("1 threads", "2 threads"), MAPS, "per second", "more"),
        (("Grace period while a table is resized",), ("median", "p99"), MAPS[:2], "ns", "less"),
    ],
    "wake_up": [(("Half awake", "90% awake", "Waker busy"), (1, 8, 63), WAKERS, "us", "less")],
    "lock_sleeping_readers": [
        (("Readers, sleepers yield", "Readers, sleepers sleep 100 us"), (0, 1, 2, 4, 8), LOCKS,
         "sections per second", "more"),
        (("Wait of a writer, median, sleepers yield",
          "Wait of a writer, median, sleepers sleep 100 us"), (0, 4, 8), LOCKS, "ns", "less"),
    ],
    "lock_writer_frequency": [
        (("Readers beside a writer", "A writer beside readers"), PAUSES, LOCKS,
         "sections per second", "more"),
    ],
    "writer_frequency": [
        (("Readers beside a writer", "A writer beside readers"),
         tuple(f"{us} us between writes" for us in PAUSES), WRITERS, "reads per second", "more"),
    ],
    "update_throughput": [
        (("Updates in batches",), tuple(f"batches of {n}" for n in (1, 10, 100, 1000)),
         contenders.RCU, "updates per second", "more"),
    ],
    "kyoto_cabinet": [
        (tables_of("fcp-23"), THREADS, contenders.PRELOADABLE, "operations per second", "more"),
    ],
    "single_thread_impact": [
        (("Programs of one thread",),
         ("compile GoogleTest", "Kyoto Cabinet, wicked", "Python, OpenSSL digests"),
         ("prwlock", "pthread"), "s", "less"),
    ],
    "lock_interference": [
        (("Inter-lock interference",), (1, 64, 8192), ("bravo-ba", "bravo-ba-paper"),
         "of the ideal", "more"),
        (("Acquisitions, one table for all locks", "Acquisitions, a table for each lock"),
         (1, 64, 8192), ("bravo-ba", "bravo-ba-paper"), "per second", "neither"),
    ],
    "alternator": [(("Alternator",), THREADS, LOCKS, "turns per second", "more")],
    "test_rwlock": [(("test_rwlock",), THREADS, LOCKS, "sections per second", "more")],
    "rwbench_locks": [(("RWBench, P = 0.9", *RARE), THREADS, LOCKS, "loops per second", "more")],
    "rocksdb_readwhilewriting": [
        (tables_of("bravo-5"), THREADS, contenders.PRELOADABLE, "reads per second", "more"),
    ],
    "hash_table_bench": [(("hash_table_bench",), THREADS, LOCKS, "operations per second", "more")],
    "lock_sizes": [
        (("Size of a lock",), ("on this machine", "72 CPUs, 2 nodes"), LOCKS, "bytes", "less"),
        (("Make and destroy a lock",), ("time",), LOCKS, "ns", "less"),
    ],
    "write_latency": [
        (own.WRITE_LATENCIES, ("median", "p99"), ("prwlock", "preloaded", *contenders.STRONG, "pthread"),
         "ns", "less"),
    ],
    "longest_wait": [
        (("Longest waits",),
         ("a writer, reads of 50 us: median", "a writer, reads of 50 us: p90",
          "a writer, reads of 50 us: p99", *(f"{who}: longest" for who in own.LONGEST_WAITS)),
         ("prwlock", "prwlock-reader", *contenders.PRELOADED_AS, *contenders.STRONG, "pthread"), "us",
         "less"),
    ],
    "rwbench_preloaded": [(RARE, (2, 8), contenders.PRELOADABLE, "loops per second", "more")],
    "retire_latency": [(own.RETIRE_LATENCIES, ("median",), contenders.RCU, "ns", "less")],
    "retire_flood": [((own.FLOOD,), ("peak of memory", "each"), contenders.RCU, "ns", "less")],
    "operation_costs": [
        (("Operation costs", "Operation costs in instructions"), OPERATIONS, ("this machine",),
         "ns", "neither"),
    ],
    "rcu_hash_table": [
        (tables_of("rcu-6"), THREADS, TABLES, "operations per second", "more"),
        (tables_of("rcu-27"), SHARES, TABLES, "operations per second", "more"),
    ],
    "rcu_breakeven": [
        (BREAK_EVEN, (1, 10, 1000), ("RCU over both", "RCU over brlock"), "of accesses", "neither"),
    ],
    "semaphore_array": [
        (tables_of("rcu-table7"), THREADS,
         ("readmost::id_table", "readmost::rcu", "liburcu-memb", "prwlock", "pthread",
          "global-lock"),
         "operations per second", "more"),
    ],
    "bravo_policies": [
        (("Lock and unlock",),
         ("read, biased", "read, unbiased", "write, with a revocation", "write, without"),
         POLICIES, "ns", "less"),
        (RARE, FEW, POLICIES, "loops per second", "more"),
        (("Scan",), (64, 4096), ("scan, scalar", "scan, avx2"), "ns per slot", "less"),
    ],
    "real_programs": [
        ((*tables_of("own-programs"), *tables_of("own-map")), FEW, contenders.PRELOADABLE, "operations per second", "more"),
    ],
    "reclamation_stress": [
        (tuple(own.STRUCTURES), (1, 2, 4), RECLAMATION, "operations per second", "more"),
        (tuple(f"{table}: waiting" for table in own.STRUCTURES), (1, 2, 4), RECLAMATION, "bytes",
         "neither"),
    ],
    "rcu_read_pair": [
        (("Read section",), (1, 2), ("readmost::rcu", "liburcu-memb", "std::shared_mutex"), "ns",
         "less"),
    ],
    "rcu_patterns": [
        (tables_of("own-patterns"), (1, 2), ("after", "before"), "operations per second", "more"),
    ],
    "grace_period": [
        (tables_of("own-grace-period"), ("median", "p99"), contenders.RCU, "ns", "less"),
    ],
}


def rows(benchmark, value):
    """`value(better, contender)` is a first turn; the second and third are near it."""
    for tables, places, names, unit, better in SHAPES[benchmark]:
        for table in tables:
            for place in places:
                for contender in names:
                    one = value(better, contender)
                    yield {
                        "contender": contender,
                        "table": table,
                        **named(place),
                        "unit": unit,
                        "better": better,
                        "values": [one, 1.02 * one, 0.98 * one],
                    }


def named(place):
    return {"name": place} if isinstance(place, str) else {"name": f"{place:g}", "x": place}


def benchmark_result(rows_of_it):
    return {
        "measured": "2026-01-02T03:04:05+00:00",
        "took_seconds": 1.5,
        "quick": False,
        "turns": 3,
        "options": ["--seconds", "0.1"],
        "build": {"version": "0.1.0", "compiler": "GNU 12.2.0"},
        "rows": list(rows_of_it),
        "failures": [],
        "left_out": [],
    }


def results(value, cpus=2):
    return {
        "format": 1,
        "machine": {**MACHINE, "cpus": cpus},
        "benchmarks": {name: benchmark_result(rows(name, value)) for name in SHAPES},
    }


def at_random(seed, orders=1.5):
    """Values that differ by so many orders of magnitude."""
    draw = random.Random(seed)
    return lambda better, contender: 100 * 10 ** draw.uniform(-orders, orders)


def ours_ahead(times):
    """Ours are so many times as good as all others, which are equal."""

    def value(better, contender):
        if not contenders.is_ours(contender) or better == "neither":
            return 100.0
        return 100.0 * times if better == "more" else 100.0 / times

    return value


class Simulator:
    """In place of the programs: writes the file of --json or --contours that they would."""

    def __init__(self, speed=lambda lock, threads, seed: 1000.0):
        self.speed = speed  # operations in the time of a run
        self.calls = []

    def output(self, program, words, timeout):
        self.calls.append([program, *words])
        options = dict(zip(words[::2], words[1::2]))
        if "--contours" in options:
            Path(options["--contours"]).write_text(json.dumps({"plots": [
                {"title": panel.table,
                 "curves": [{"name": "RCU over both", "points": [[1, 0.5], [10, 0.25], [1000, 0.75]]}]}
                for figure in simulated.ALL for panel in figure.panels if figure.contours
            ]}))
            return
        seed = int(options["--seed"])
        Path(options["--json"]).write_text(json.dumps([
            self.run(lock, int(threads), seed)
            for lock in options.get("--locks", "none").split(",")
            for threads in options["--threads"].split(",")
        ]))

    def run(self, lock, threads, seed):
        done = self.speed(lock, threads, seed)
        kind = {"count": done}
        if done:
            kind |= {name: share / done for name, share in
                     {"p10": 10.0, "p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0}.items()}
        return {"lock": lock, "threads": threads, "nanoseconds": 1000.0, "reads": kind, "writes": kind}


class NoProgress:
    def at(self, benchmark, contender):
        pass

    def add(self, seconds):
        pass


def simulate(figure, simulator, asked=benchmarks.Asked()):
    run = simulating.Run(figure, asked, simulator, {"version": "0.1.0"})
    run.simulate(NoProgress())
    return run.result()


def with_simulated(found, speed=lambda lock, threads, seed: 1000.0 + 10 * seed + len(lock)):
    """The same results, with every simulated figure."""
    made = {one.id: simulate(one, Simulator(speed)) for one in simulated.ALL if not one.why}
    return {**found, "simulated": made}

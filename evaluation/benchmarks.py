# SPDX-License-Identifier: Apache-2.0
"""The benchmarks: their programs, contenders, lengths and numbers of turns.

A turn is one process of one contender. Its length is estimated, so that a run can announce how long it
takes; the results have the real length.
"""

from dataclasses import dataclass

from .contenders import BRAVO, LIBRARIES, PRELOADABLE, PRELOADED, PRELOADED_AS, RCU, STRONG

TURNS = 5


@dataclass(frozen=True)
class Benchmark:
    program: str
    name: str
    contenders: tuple = ()  # default: all that the program has
    all: int = 8  # about how many that is
    preloads: tuple = ()  # measures pthread also with our library preloaded: of PRELOADED_AS
    reference: str = ""  # whom tables compare with; default: what ours replaces
    turns: int = TURNS
    # For benchmarks with --seconds, the length of a point; and --threads.
    seconds: float = 0
    threads: tuple = ()
    quick_threads: tuple = ()  # default: the program's choice
    points: int = 1  # in a turn; for each number of threads, if it has them
    overhead: float = 0.02  # seconds for each point beside its own length
    start: float = 0.1  # seconds for a turn beside its points, or for the whole turn without them
    quick_turn: float = 0.3  # seconds for a quick turn

    def options_for(self, asked):
        words = ["--quick"] if asked.quick else []
        if self.seconds and (asked.seconds or not asked.quick):
            words += ["--seconds", f"{asked.seconds or self.seconds:g}"]
        threads = asked.threads or (self.quick_threads if asked.quick else self.threads)
        if self.threads and threads:
            words += ["--threads", *map(str, threads)]
        return words

    def turns_for(self, asked):
        return asked.runs or (1 if asked.quick else self.turns)

    def turn_seconds(self, asked):
        """The estimated length of a turn."""
        if asked.quick and not (asked.seconds and self.seconds):
            return self.quick_turn
        if not self.seconds:
            return self.start
        points = self.points * (len(asked.threads or self.threads) if self.threads else 1)
        return self.start + points * ((asked.seconds or self.seconds) + self.overhead)


@dataclass(frozen=True)
class Asked:
    """What the user asks of all benchmarks."""

    quick: bool = False
    runs: int = 0  # 0: as declared
    seconds: float = 0
    threads: tuple = ()
    locks: tuple = ()


THREADS = (1, 2, 4, 8)
FEW = (1, 2, 8)  # for quick turns


def lock(name, **more):
    return Benchmark("bench_locks", name, **more)


def lock_sweep(name, also=(), **more):
    """A benchmark of the papers' locks whose points have a length, for each number of threads."""
    return lock(
        name, contenders=(*BRAVO, *STRONG, *also), threads=THREADS, quick_threads=FEW, **more
    )


def machine(name, **more):
    return Benchmark("bench_machine", name, turns=3, **more)


def rcu(name, **more):
    return Benchmark("bench_rcu", name, **more)


def program(name, **more):
    """Real programs with a lock preloaded."""
    return Benchmark("bench_programs", name, **{"contenders": PRELOADABLE, "turns": 3, **more})


DECLARED = (
    # FCP
    machine("staleness", all=7, start=1.5),
    machine("message_cost", all=4, start=1.5),
    lock("critical_section", all=32, preloads=(PRELOADED,), turns=3, seconds=0.04, points=18,
         quick_turn=0.7),
    rcu("hash_table", all=4, start=2.7, quick_turn=0.4),
    machine("wake_up", all=13, reference="broadcast", start=0.5, quick_turn=0.2),
    lock("lock_sleeping_readers", contenders=(*BRAVO, "brlock", *STRONG), turns=3, seconds=0.08,
         points=10, quick_turn=0.4),
    lock("lock_writer_frequency", contenders=(*BRAVO, "brlock", *STRONG), seconds=0.08, points=6),
    rcu("writer_frequency", all=9, turns=3, start=2.6),
    rcu("update_throughput", contenders=RCU, turns=3, start=2.6, quick_turn=0.4),
    program("kyoto_cabinet", threads=THREADS, start=6.0, quick_turn=1.0),
    program("single_thread_impact", contenders=("prwlock", "pthread", "bravo-pthread"), start=14.0,
            quick_turn=2.0),
    # BRAVO
    lock("lock_interference", all=2, turns=3, seconds=0.1, points=30, overhead=0.03,
         quick_turn=0.5),
    lock_sweep("alternator", seconds=0.1, quick_turn=0.15),
    lock_sweep("test_rwlock", seconds=0.1, quick_turn=0.15),
    lock_sweep("rwbench_locks", seconds=0.08, points=6, quick_turn=0.4),
    program("rocksdb_readwhilewriting",
            contenders=(*PRELOADABLE, "prwlock-writer", "pthread-writer"), seconds=0.3,
            threads=THREADS, points=2, overhead=0.15, quick_turn=1.0),
    lock_sweep("hash_table_bench", also=("prwlock-reader", "pthread-writer"), turns=3, seconds=0.15,
               overhead=0.04, quick_turn=0.2),
    lock("lock_sizes", all=31, turns=1, start=0.2, quick_turn=0.1),
    # RCU
    machine("operation_costs", all=1, start=4.0, quick_turn=1.0),
    rcu("rcu_hash_table", all=10, turns=3, seconds=0.08, threads=THREADS, quick_threads=FEW,
        points=6, overhead=0.03, quick_turn=0.6),
    rcu("rcu_breakeven", all=4, turns=1, start=3.0, quick_turn=0.5),
    rcu("semaphore_array", all=9, turns=3, seconds=0.1, threads=THREADS, quick_threads=FEW,
        points=2),
    # Our own
    lock("bravo_policies", all=20, turns=3, seconds=0.05, threads=FEW, quick_threads=FEW, points=5,
         start=0.4, quick_turn=0.5),
    program("real_programs", seconds=0.15, threads=FEW, points=8, overhead=0.05, quick_turn=2.0),
    program("rwbench_preloaded", contenders=("prwlock", "pthread", "bravo-pthread"), seconds=0.2,
            threads=(2, 8), points=6, overhead=0.05, quick_turn=1.0),
    lock("write_latency", contenders=("prwlock", "preloaded", "pthread", *LIBRARIES),
         preloads=(PRELOADED,), turns=3, start=0.6, quick_turn=0.2),
    lock("longest_wait", all=38, preloads=tuple(PRELOADED_AS), turns=3, seconds=0.4, points=3,
         quick_turn=0.2),
    rcu("rcu_patterns", contenders=("after", "before"), seconds=0.1, threads=(1, 2),
        quick_threads=(2,), points=17, quick_turn=0.5),
    rcu("reclamation_stress", all=8, turns=3, seconds=0.06, threads=(1, 2, 4), quick_threads=(2,),
        points=16, overhead=0.03, start=0.3, quick_turn=1.0),
    rcu("rcu_read_pair", all=12, turns=3, seconds=0.1, points=2, quick_turn=0.15),
    rcu("grace_period", contenders=RCU, turns=3, start=3.0, quick_turn=0.4),
    rcu("retire_latency", contenders=RCU, turns=3, start=6.0, quick_turn=0.4),
    rcu("retire_flood", contenders=RCU, turns=1, start=4.0, quick_turn=0.3),
)

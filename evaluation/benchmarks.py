"""What is run: each program, with whom, how long, and how often.

A turn is one process of one contender. How long it takes is estimated, so that a run can say
beforehand how long it will be; what it took is in the results.
"""

from dataclasses import dataclass, field

from .contenders import BRAVO, PRELOADED, RCU, STRONG
from .programs import Comparison, GoogleBenchmark, WakeUp

TURNS = 5


@dataclass(frozen=True)
class Benchmark:
    name: str
    program: str = ""  # without it, named as the benchmark
    contenders: tuple = ()  # without it, all that the program has
    all: int = 8  # how many that is, about
    speaks: object = field(default_factory=Comparison)
    turns: int = TURNS
    # For programs that take --seconds, the length of a point; and --threads.
    seconds: float = 0
    threads: tuple = ()
    quick_threads: tuple = ()  # without it, the program's own choice
    points: int = 1  # in a turn, for each number of threads if it takes them
    overhead: float = 0.02  # seconds for each point beside its own
    start: float = 0.1  # seconds for a turn beside its points, or in all for other programs
    quick_turn: float = 0.3  # seconds for a quick turn
    options: tuple = ()
    quick_options: tuple = ("--quick",)

    @property
    def runs(self):
        return self.program or self.name

    def options_for(self, asked):
        if asked.quick:
            words = list(self.quick_options)
            if self.seconds and asked.seconds:
                words += ["--seconds", f"{asked.seconds:g}"]
        else:
            words = list(self.options)
            if self.seconds:
                words += ["--seconds", f"{asked.seconds or self.seconds:g}"]
        threads = asked.threads or (self.quick_threads if asked.quick else self.threads)
        if self.threads and threads:
            words += ["--threads", *map(str, threads)]
        return words

    def turns_for(self, asked):
        return asked.runs or (1 if asked.quick else self.turns)

    def turn_seconds(self, asked):
        """How long a turn takes, about."""
        if asked.quick and not (asked.seconds and self.seconds):
            return self.quick_turn
        if not self.seconds:
            return self.start
        points = self.points * (len(asked.threads or self.threads) if self.threads else 1)
        return self.start + points * ((asked.seconds or self.seconds) + self.overhead)


@dataclass(frozen=True)
class Asked:
    """What the user wants of all benchmarks alike."""

    quick: bool = False
    runs: int = 0  # 0: as declared
    seconds: float = 0
    threads: tuple = ()
    locks: tuple = ()


THREADS = (1, 2, 4, 8)
FEW = (1, 2, 8)  # for quick turns


def sweep(name, **more):
    """Of a program whose points are each so many seconds long, for each number of threads."""
    return Benchmark(name, threads=THREADS, quick_threads=FEW, **more)


DECLARED = (
    # FCP
    Benchmark("staleness", all=7, turns=3, start=1.5, quick_turn=0.3),
    Benchmark("message_cost", all=4, turns=3, start=1.5, quick_turn=0.3),
    Benchmark("critical_section", all=30, turns=3, seconds=0.04, points=14, quick_turn=0.6),
    Benchmark("hash_table", all=4, start=2.7, quick_turn=0.4),
    Benchmark(
        "wake_up", all=1, speaks=WakeUp(), turns=3, start=3.0, quick_turn=1.5,
        options=("--sleepers", "1", "8", "63", "--rounds", "40"),
        quick_options=("--sleepers", "1", "8", "63", "--rounds", "2"),
    ),
    Benchmark(
        "lock_sleeping_readers", contenders=(*BRAVO, "brlock", *STRONG), turns=3, seconds=0.08,
        points=10, quick_turn=0.4,
    ),
    Benchmark(
        "lock_writer_frequency", contenders=(*BRAVO, "brlock", *STRONG), seconds=0.08,
        points=6, quick_turn=0.3,
    ),
    Benchmark("writer_frequency", all=9, turns=3, start=2.6, quick_turn=0.3),
    Benchmark("update_throughput", contenders=RCU, turns=3, start=2.6, quick_turn=0.4),
    Benchmark(
        "kyoto_cabinet", contenders=PRELOADED, turns=3, threads=THREADS, start=6.0, quick_turn=1.0
    ),
    Benchmark(
        "single_thread_impact", contenders=("prwlock", "pthread", "bravo-pthread"), turns=3,
        start=14.0, quick_turn=2.0,
    ),
    # BRAVO
    Benchmark(
        "lock_interference", all=2, turns=3, seconds=0.1, points=30, overhead=0.03, quick_turn=0.5
    ),
    sweep("alternator", contenders=(*BRAVO, *STRONG), seconds=0.1, quick_turn=0.15),
    sweep("test_rwlock", contenders=(*BRAVO, *STRONG), seconds=0.1, quick_turn=0.15),
    sweep("rwbench_locks", contenders=(*BRAVO, *STRONG), seconds=0.08, points=6, quick_turn=0.4),
    Benchmark(
        "rocksdb_readwhilewriting", contenders=PRELOADED, turns=3, seconds=0.3, threads=THREADS,
        points=2, overhead=0.15, quick_turn=1.0,
    ),
    sweep(
        "hash_table_bench", contenders=(*BRAVO, *STRONG), turns=3, seconds=0.15, overhead=0.04,
        quick_turn=0.2,
    ),
    Benchmark("lock_sizes", all=30, turns=1, start=0.1, quick_turn=0.1),
    # RCU
    Benchmark("operation_costs", all=1, turns=3, start=4.0, quick_turn=1.0),
    sweep(
        "rcu_hash_table", all=10, turns=3, seconds=0.08, points=6, overhead=0.03, quick_turn=0.6
    ),
    Benchmark("rcu_breakeven", all=4, turns=1, start=3.0, quick_turn=0.5),
    sweep("semaphore_array", all=6, turns=3, seconds=0.1, points=2, quick_turn=0.3),
    # Our own
    Benchmark(
        "bravo_policies", all=20, turns=3, seconds=0.05, threads=FEW, quick_threads=FEW, points=5,
        start=0.4, quick_turn=0.5,
    ),
    Benchmark(
        "real_programs", contenders=PRELOADED, turns=3, seconds=0.15, threads=FEW, points=8,
        overhead=0.05, quick_turn=2.0,
    ),
    Benchmark(
        "rcu_read_pair", all=10, speaks=GoogleBenchmark("Read section"), turns=3, start=0.4,
        quick_turn=0.15,
        options=("--benchmark_min_time=0.1", "--benchmark_min_warmup_time=0.03"),
        quick_options=("--benchmark_min_time=0.01", "--benchmark_min_warmup_time=0.03"),
    ),
    Benchmark("grace_period", contenders=RCU, turns=3, start=3.0, quick_turn=0.4),
)

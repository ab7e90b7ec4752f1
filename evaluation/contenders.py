# SPDX-License-Identifier: Apache-2.0
"""The contenders: which are ours, which are rivals of which, and the style of each in all plots.

The hue shows the lock underneath; a lock is dashed and BRAVO over it solid; ours are thick.
"""

from dataclasses import dataclass, replace

PRWLOCK = "prwlock"  # the same lock as readmost::shared_mutex
PRELOADED = "preloaded"  # pthread's lock with our library preloaded
# The same under each preference: READMOST_PREFER. By default a program's locks prefer readers.
PRELOADED_AS = {PRELOADED: "", "preloaded-writer": "writer", "preloaded-phase-fair": "phase-fair"}

# The same lock under the names of several programs.
SAME = {
    "readmost::shared_mutex": PRWLOCK,
    "shared_mutex": PRWLOCK,
    "pthread_rwlock": "pthread",
    "glibc": "pthread",
}

# What users would otherwise use.
REPLACED = {
    PRWLOCK: "pthread",
    "shared_mutex": "pthread_rwlock",
    "readmost::rcu": "liburcu-memb",
    "readmost::rcu_hash_map": "liburcu-cds_lfht",
    "readmost::id_table": "liburcu-memb",
    "after": "before",  # a pattern of RCU
}

# Locks that can be preloaded; those of the BRAVO paper with its variants; the strongest of the others,
# without which a comparison would prove little; and the locks of other libraries.
PRELOADABLE = (
    PRWLOCK, "pthread", "bravo-pthread", "ba", "bravo-ba", "per-cpu", "cohort-rw", "bravo-prwlock",
)
BRAVO = (*PRELOADABLE, "bravo-consensus", "bravo-mutex")
STRONG = (
    "rmlock", "brlock-flags", "c-snzi", "tlrw", "percpu-rwlock",
    "std::shared_mutex", "absl::Mutex", "tbb::rw_mutex", "tbb::spin_rw_mutex", "ck_rwlock",
)
LIBRARIES = (
    "std::shared_mutex", "boost::upgrade_mutex", "absl::Mutex", "tbb::rw_mutex",
    "tbb::spin_rw_mutex", "tbb::queuing_rw_mutex", "ck_rwlock", "ck_brlock", "ck_bytelock",
    "ck_pflock", "ck_tflock",
)
RCU = ("readmost::rcu", "liburcu-memb", "liburcu-bp", "liburcu-qsbr", "liburcu-mb")

# These are our lock in another form, or contain it or our consensus: neither our main contender nor
# its rivals.
OURS_TOO = (
    "bravo-prwlock", "bravo-consensus", "prwlock-reader", "prwlock-writer", "prwlock-phase-fair",
    *PRELOADED_AS,
)


def canonical(name):
    return SAME.get(name, name)


def is_ours(name):
    name = canonical(name)
    return name in (PRWLOCK, *OURS_TOO) or name.startswith(("readmost::", "map-in-readmost::"))


@dataclass(frozen=True)
class Style:
    colour: str  # a CSS variable's name, see report.css
    marker: str = "o"
    dash: str = "-"
    thick: bool = False

    @property
    def filled(self):
        """Whether the markers are: those of solid lines."""
        return self.dash == "-"


OURS = Style("ours", thick=True)
OURS_OF_RCU = Style("violet", "D", thick=True)

STYLES = {
    PRWLOCK: OURS,
    PRELOADED: Style("ours", "D", "--"),
    "prwlock-reader": Style("ours", "s"),
    "prwlock-writer": Style("ours", "P"),
    "prwlock-phase-fair": Style("ours", "^"),
    "preloaded-writer": Style("ours", "P", "--"),
    "preloaded-phase-fair": Style("ours", "v", "--"),
    "bravo-prwlock": Style("sky", "s"),
    "bravo-consensus": Style("sky", "^"),
    "pthread": Style("ink", "s", "--"),
    "pthread-writer": Style("ink", "P", ":"),
    "bravo-pthread": Style("ink", "s"),
    "std::shared_mutex": Style("grey", "D", ":"),
    "ba": Style("orange", "^", "--"),
    "bravo-ba": Style("orange", "^"),
    "bravo-ba-paper": Style("purple", "v", "--"),
    "pf-t": Style("orange", "v", ":"),
    "bravo-mutex": Style("grey", "P"),
    "per-cpu": Style("green", "D", "--"),
    "brlock": Style("green", "v", ":"),
    "brlock-flags": Style("green", "P", ":"),
    "brlock-of-mutexes": Style("green", "X", ":"),
    "percpu-rwlock": Style("green", "X", "-."),
    "rmlock": Style("green", "s", "-."),
    "cohort-rw": Style("purple", "D", "--"),
    "c-snzi": Style("purple", "v", ":"),
    "tlrw": Style("purple", "P", "-."),
    "stamped": Style("brown", "X", ":"),
    "readmost::id_table": Style("ours", "D", thick=True),
    "liburcu-memb": Style("orange", "s", "--"),
    "liburcu-bp": Style("orange", "D", ":"),
    "liburcu-qsbr": Style("green", "^", "--"),
    "liburcu-mb": Style("purple", "v", ":"),
    "liburcu-cds_lfht": Style("orange", "s", "--"),
    "map-in-readmost::shared_mutex": Style("sky", "o"),
    "map-in-std::shared_mutex": Style("grey", "D", ":"),
    "readmost::hazard_pointer": Style("ours", "s", thick=True),
    "hazard-fenced": Style("purple", "v", ":"),
    "epochs": Style("green", "^", "--"),
    "none": Style("grey", "", "--"),
    "ideal": Style("grey", "", "--"),
    "broadcast": Style("orange", "s"),
    "condvar": Style("orange", "^", ":"),
    "by-cpu-bits": Style("green", "v", "--"),
    "by-cpu-words": Style("green", "D"),
    "tree-of-4": Style("purple", "X", "-."),
    "RCU over both": OURS_OF_RCU,
    "RCU over spinlock": Style("orange", "^", "--"),
    "RCU over brlock": Style("green", "v", "--"),
    "brlock over spinlock": Style("grey", "s", ":"),
    "after": OURS_OF_RCU,
    "before": Style("grey", "s", "--"),
    "default": OURS,
    "paper": Style("orange", "^"),
    "consensus": Style("sky", "^"),
    "scalar scan": Style("green", "v", "--"),
    "one probe": Style("purple", "D", ":"),
    "private table": Style("brown", "X", "-."),
    "scan, scalar": Style("ink", "s", "--"),
    "scan, sse2": Style("orange", "^"),
    "scan, avx2": Style("green", "D"),
    "scan, avx512": Style("purple", "v"),
    "scan, neon": Style("sky", "o"),
    "memory": Style("ink", "s"),
    "sections": Style("violet", "D"),
    "sections of 100 ns": Style("violet", "o", "--"),
    "sections of 1 us": Style("violet", "^", ":"),
    "rests of 100 ns": Style("green", "o", "--"),
    "rests of 1 us": Style("green", "^", ":"),
    "rests of 10 us": Style("green", "D", "-."),
    "membarrier": Style("ours", "o"),
    "signal": Style("purple", "s", "--"),
    "futex-wake": Style("orange", "^", "--"),
    "cache-line": Style("green", "D", "--"),
}

# For contenders that are not named above.
OTHERS = [
    Style(colour, marker, dash)
    for dash in ("-.", ":")
    for marker in "sDvPX^"
    for colour in ("brown", "purple", "green", "orange", "grey")
]


# In the plots of simulated machines the line tells where a figure is from: solid ones are simulated,
# dotted ones measured here, single points printed in the paper. So hue and marker tell the lock.
ON_SIMULATED_MACHINES = {
    "pthread": Style("ink", "s"),
    "bravo-pthread": Style("grey", "P"),
    "ba": Style("orange", "^"),
    "bravo-ba": Style("brown", "v"),
    "bravo-ba-paper": Style("orange", "v"),
    "bravo-pthread-paper": Style("grey", "X"),
    "per-cpu": Style("green", "D"),
    "cohort-rw": Style("purple", "X"),
    "brlock": Style("green", "v"),
    "rmlock": Style("sky", "s"),
    "RCU over spinlock": Style("orange", "^"),
    "RCU over brlock": Style("green", "v"),
    "brlock over spinlock": Style("grey", "s"),
}
SIMULATED, MEASURED, PRINTED = "simulated", "measured here", "printed in the paper"


def style_of_kind(name, kind):
    look = ON_SIMULATED_MACHINES.get(canonical(name)) or replace(style(name), dash="-")
    if kind == MEASURED:
        return replace(look, dash=":")
    return replace(look, marker="paper", dash="none", thick=False) if kind == PRINTED else look


def style(name):
    name = canonical(name)
    if name in STYLES:
        return STYLES[name]
    if is_ours(name):
        return OURS_OF_RCU
    # By the name, so that a contender looks alike in all plots.
    return OTHERS[sum(name.encode()) * 7 % len(OTHERS)]


def label(name):
    """Its name in the report: one name for one lock."""
    return canonical(name)


# --- Rivals ---


def rivals_of_lock(name):
    """Reader-writer locks that are not ours, BRAVO over others' locks among them."""
    return (
        not is_ours(name)
        and not name.startswith(("liburcu-", "hazard", "map-in-"))
        and name not in ("ideal", "empty", "spinlock-per-bucket", "global-lock")
    )


def rivals_of_rcu(name):
    return name.startswith("liburcu-")


def all_others(name):
    return not is_ours(name) and name != "ideal"

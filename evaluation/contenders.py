"""Who takes part: what is ours, who is a rival to whom, and how each is drawn in every plot.

Hue tells the lock underneath, BRAVO is solid over what is dashed without it, ours are thick.
"""

from dataclasses import dataclass

PRWLOCK = "prwlock"  # the same lock as readmost::shared_mutex

# The same lock under the names of several programs.
SAME = {
    "readmost::shared_mutex": PRWLOCK,
    "shared_mutex": PRWLOCK,
    "pthread_rwlock": "pthread",
    "glibc": "pthread",
}

# What users of ours had before.
REPLACED = {
    PRWLOCK: "pthread",
    "shared_mutex": "pthread_rwlock",
    "readmost::rcu": "liburcu-memb",
    "readmost::rcu_hash_map": "liburcu-cds_lfht",
}

# These contain our lock or our consensus: neither our main contender nor its rivals.
OURS_TOO = ("bravo-prwlock", "bravo-consensus")


def canonical(name):
    return SAME.get(name, name)


def is_ours(name):
    name = canonical(name)
    return (
        name == PRWLOCK or name.startswith(("readmost::", "map-in-readmost::")) or name in OURS_TOO
    )


@dataclass(frozen=True)
class Style:
    colour: str  # a CSS variable's name, see report.css
    marker: str = "o"
    dash: str = "-"
    thick: bool = False
    filled: bool = True


OURS = Style("ours", "o", "-", thick=True)
OURS_OF_RCU = Style("violet", "D", "-", thick=True)

STYLES = {
    PRWLOCK: OURS,
    "bravo-prwlock": Style("sky", "s"),
    "bravo-consensus": Style("sky", "^"),
    "pthread": Style("ink", "s", "--", filled=False),
    "bravo-pthread": Style("ink", "s"),
    "std::shared_mutex": Style("grey", "D", ":", filled=False),
    "ba": Style("orange", "^", "--", filled=False),
    "bravo-ba": Style("orange", "^"),
    "bravo-ba-paper": Style("purple", "v", "--", filled=False),
    "pf-t": Style("orange", "v", ":", filled=False),
    "bravo-mutex": Style("grey", "P"),
    "per-cpu": Style("green", "D", "--", filled=False),
    "brlock": Style("green", "v", ":", filled=False),
    "brlock-flags": Style("green", "P", ":", filled=False),
    "brlock-of-mutexes": Style("green", "X", ":", filled=False),
    "percpu-rwlock": Style("green", "X", "-.", filled=False),
    "rmlock": Style("green", "s", "-.", filled=False),
    "cohort-rw": Style("purple", "D", "--", filled=False),
    "c-snzi": Style("purple", "v", ":", filled=False),
    "tlrw": Style("purple", "P", "-.", filled=False),
    "stamped": Style("brown", "X", ":", filled=False),
    "liburcu-memb": Style("orange", "s", "--", filled=False),
    "liburcu-bp": Style("orange", "D", ":", filled=False),
    "liburcu-qsbr": Style("green", "^", "--", filled=False),
    "liburcu-mb": Style("purple", "v", ":", filled=False),
    "liburcu-cds_lfht": Style("orange", "s", "--", filled=False),
    "map-in-readmost::shared_mutex": Style("sky", "o"),
    "map-in-std::shared_mutex": Style("grey", "D", ":", filled=False),
    "ideal": Style("grey", "", "--", filled=False),
    "broadcast": Style("orange", "s"),
    "condvar": Style("orange", "^", ":", filled=False),
    "by-cpu-bits": Style("green", "v", "--", filled=False),
    "by-cpu-words": Style("green", "D"),
    "tree-of-4": Style("purple", "X", "-.", filled=False),
    "RCU over both": Style("violet", "D", thick=True),
    "RCU over spinlock": Style("orange", "^", "--", filled=False),
    "RCU over brlock": Style("green", "v", "--", filled=False),
    "brlock over spinlock": Style("grey", "s", ":", filled=False),
    "default": OURS,
    "paper": Style("orange", "^"),
    "consensus": Style("sky", "^"),
    "scalar scan": Style("green", "v", "--", filled=False),
    "one probe": Style("purple", "D", ":", filled=False),
    "private table": Style("brown", "X", "-.", filled=False),
    "scan, scalar": Style("ink", "s", "--", filled=False),
    "scan, sse2": Style("orange", "^"),
    "scan, avx2": Style("green", "D"),
    "scan, avx512": Style("purple", "v"),
    "scan, neon": Style("sky", "o"),
    "memory": Style("ink", "s"),
    "sections": Style("violet", "D"),
    "sections of 100 ns": Style("violet", "o", "--", filled=False),
    "sections of 1 us": Style("violet", "^", ":", filled=False),
    "rests of 100 ns": Style("green", "o", "--", filled=False),
    "rests of 1 us": Style("green", "^", ":", filled=False),
    "rests of 10 us": Style("green", "D", "-.", filled=False),
    "membarrier": Style("ours", "o"),
    "signal": Style("purple", "s", "--", filled=False),
    "futex-wake": Style("orange", "^", "--", filled=False),
    "cache-line": Style("green", "D", "--", filled=False),
}

# For whoever is not named above, by turns.
OTHERS = [
    Style(colour, marker, dash, filled=False)
    for dash in ("-.", ":")
    for marker in "sDvPX^"
    for colour in ("brown", "purple", "green", "orange", "grey")
]


def style(name):
    name = canonical(name)
    if name in STYLES:
        return STYLES[name]
    if is_ours(name):
        return OURS_OF_RCU
    # By the name, so that a contender looks alike in all plots, whoever stands beside it.
    return OTHERS[sum(name.encode()) * 7 % len(OTHERS)]


def label(name):
    """As it is called in the report: one name for one lock."""
    return canonical(name)


# --- Who is compared with whom ---


def rivals_of_lock(name):
    """Reader-writer locks that are not ours. BRAVO over others' locks is a rival too."""
    return (
        not is_ours(name)
        and not name.startswith(("liburcu-", "hazard", "map-in-"))
        and name not in ("ideal", "empty", "spinlock-per-bucket", "global-lock")
    )


def rivals_of_rcu(name):
    return name.startswith("liburcu-")


def anybody_else(name):
    return not is_ours(name) and name != "ideal"

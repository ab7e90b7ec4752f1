"""One process of a benchmark's program: how it is started, and what it says."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from .samples import Row

# What a user may have set for other programs.
UNWANTED = (
    "LD_PRELOAD", "READMOST_LOCK", "READMOST_PREFER", "READMOST_STATS", "READMOST_STATS_BACKTRACE",
)
POLL = 1.0  # seconds between two looks at the progress


class Broken(Exception):
    """A contender that did not end as it should. Says what was started and what happened."""


class Programs:
    """The programs of one build."""

    def __init__(self, folder, tick=lambda: None, preloaded=None):
        self.folder = Path(folder)
        self.tick = tick  # is called while a program runs
        self.preloaded = preloaded  # a library

    def has(self, program):
        return (self.folder / program).is_file()

    def output(self, program, options, timeout):
        command = [str(self.folder / program), *options]
        line = " ".join([program, *options])
        environment = {name: value for name, value in os.environ.items() if name not in UNWANTED}
        if self.preloaded:
            environment["LD_PRELOAD"] = str(self.preloaded)
        # A group of its own, so that whatever it starts ends with it.
        try:
            process = subprocess.Popen(
                command, env=environment, text=True, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise Broken(f"'{line}' cannot be started: {error.strerror}") from None
        try:
            out, err = self._wait(process, timeout)
        except subprocess.TimeoutExpired:
            raise Broken(f"'{line}' had not ended after {timeout:.0f} seconds") from None
        finally:
            _end_group(process)
        if process.returncode < 0:
            name = signal.Signals(-process.returncode).name
            raise Broken(f"'{line}' was ended by {name}: {_last_lines(err)}")
        if process.returncode > 0:
            raise Broken(f"'{line}' ended with status {process.returncode}: {_last_lines(err)}")
        if self.preloaded and "ERROR: ld.so" in err:  # which goes on without it
            why = _last_lines(err)
            raise Broken(f"'{self.preloaded}' cannot be preloaded, build it anew: {why}")
        return out

    def _wait(self, process, timeout):
        over = time.monotonic() + timeout
        while True:
            try:
                return process.communicate(timeout=max(0.01, min(POLL, over - time.monotonic())))
            except subprocess.TimeoutExpired:
                if time.monotonic() >= over:
                    raise
                self.tick()


def _end_group(process):
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()


def _last_lines(text):
    lines = text.strip().splitlines()
    return " / ".join(lines[-3:]) if lines else "it said nothing on stderr"


class Comparison:
    """A program that tells its contenders and numbers itself; see bench/comparison.hpp."""

    def contenders(self, programs, program):
        return programs.output(program, ["--list"], 60).splitlines()

    def turn(self, programs, program, contender, options, timeout):
        """As the program tells it."""
        text = programs.output(program, ["--turn-of", contender, *options], timeout)
        with understood(program, contender):
            return json.loads(text)

    def measure(self, programs, program, contender, options, timeout):
        """Returns (row, contender, value) for each number."""
        turn = self.turn(programs, program, contender, options, timeout)
        with understood(program, contender):
            return [
                (
                    Row(row["table"], row["name"], row["unit"], row["better"], row.get("x")),
                    row.get("contender", contender),
                    float(row["value"]),
                )
                for row in turn["rows"]
            ]


class WakeUp:
    """wake_up: one process lets all ways of waking take turns."""

    TABLES = (
        ("Half awake", "latency", "p50"),
        ("90% awake", "latency", "p90"),
        ("Waker busy", "waker_busy", "p50"),
    )

    def contenders(self, programs, program):
        return ["all"]

    def numbers(self, programs, program, contender, options, timeout):
        """(table, how many sleep, the way of waking, microseconds) of each."""
        with tempfile.TemporaryDirectory(prefix="readmost-bench-") as folder:
            report = Path(folder) / "wake_up.json"
            programs.output(program, [*options, "--json", str(report)], timeout)
            with understood(program, contender):
                return [
                    (table, row["sleepers"], row["strategy"], float(row[what][percentile]))
                    for row in json.loads(report.read_text(encoding="utf-8"))["rows"]
                    for table, what, percentile in self.TABLES
                ]

    def measure(self, programs, program, contender, options, timeout):
        return [
            (Row(table, str(sleepers), "us", "less", sleepers), strategy, microseconds)
            for table, sleepers, strategy, microseconds in self.numbers(
                programs, program, contender, options, timeout
            )
        ]


class GoogleBenchmark:
    """Benchmarks named KIND/CONTENDER/..., of which one process measures those of a contender."""

    def __init__(self, table):
        self.table = table

    @staticmethod
    def contenders(programs, program):
        tests = programs.output(program, ["--benchmark_list_tests"], 60).split()
        return list(dict.fromkeys(test.split("/")[1] for test in tests))

    @staticmethod
    def benchmarks(programs, program, contender, options, timeout):
        """As the program tells them."""
        chosen = f"--benchmark_filter=^[a-z_]+/{contender}(/|$)"
        text = programs.output(program, ["--benchmark_format=json", chosen, *options], timeout)
        with understood(program, contender):
            found = json.loads(text)["benchmarks"]
            for one in found:
                if one.get("error_occurred"):
                    raise Broken(f"'{program}': {one['name']} failed: {one['error_message']}")
            return found

    @staticmethod
    def nanoseconds(one):
        """What each of the threads takes for an item."""
        return one["threads"] * 1e9 / one["items_per_second"]

    def measure(self, programs, program, contender, options, timeout):
        found = self.benchmarks(programs, program, contender, options, timeout)
        with understood(program, contender):
            return [
                (
                    Row(self.table, str(one["threads"]), "ns", "less", one["threads"]),
                    contender,
                    self.nanoseconds(one),
                )
                for one in found
            ]


@contextlib.contextmanager
def understood(program, contender):
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise Broken(f"'{program}' for {contender} did not tell what it measured ({why})") from None

# SPDX-License-Identifier: Apache-2.0
"""The benchmark programs of one build: how a turn is started, and what it printed."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from .contenders import PRELOADED_AS
from .samples import Row

# Variables that a user may have set for other programs.
UNWANTED = (
    "LD_PRELOAD", "READMOST_LOCK", "READMOST_PREFER", "READMOST_STATS", "READMOST_STATS_BACKTRACE",
)
POLL = 1.0  # seconds between two updates of the progress
LIST_TIMEOUT = 60


class Broken(Exception):
    """A program that failed. Names the command and the failure."""


class Programs:
    def __init__(self, folder, tick=lambda: None):
        self.folder = Path(folder)
        self.library = self.folder.parent / "lib" / "libreadmost-pthread.so"
        self.tick = tick  # is called while a program runs

    @functools.cache
    def benchmarks_in(self, program):
        """The names of its benchmarks; none if it was not built."""
        if not (self.folder / program).is_file():
            return []
        text = self.output(program, ["--help"], LIST_TIMEOUT)
        return text.partition("Benchmarks:\n")[2].split()

    def has(self, benchmark):
        return benchmark.name in self.benchmarks_in(benchmark.program)

    def contenders(self, benchmark):
        """Those of the program; where preloaded locks are measured, they stand before pthread."""
        words = [benchmark.name, "--list"]
        names = self.output(benchmark.program, words, LIST_TIMEOUT).splitlines()
        if "pthread" in names:
            place = names.index("pthread")
            names[place:place] = benchmark.preloads
        return names

    def turn(self, benchmark, contender, options, timeout):
        """Measures one turn. Returns (row, contender, value) for each figure."""
        prefer = PRELOADED_AS.get(contender)
        preloaded = self.library if prefer is not None else None
        measured = "pthread" if preloaded else contender
        words = [benchmark.name, "--turn-of", measured, *options]
        text = self.output(benchmark.program, words, timeout, preloaded, prefer)
        with understood(benchmark.name, contender):
            return [
                (
                    Row(row["table"], row["name"], row["unit"], row["better"], row.get("x")),
                    contender,
                    float(row["value"]),
                )
                for row in json.loads(text)["rows"]
            ]

    def output(self, program, options, timeout, preloaded=None, prefer=None):
        line = " ".join([program, *options])
        environment = {name: value for name, value in os.environ.items() if name not in UNWANTED}
        if preloaded:
            environment["LD_PRELOAD"] = str(preloaded)
        if prefer:
            environment["READMOST_PREFER"] = prefer
        # In a process group of its own, so that its children end with it.
        try:
            process = subprocess.Popen(
                [str(self.folder / program), *options], env=environment, text=True,
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
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
        if preloaded and "ERROR: ld.so" in err:  # ld.so goes on without the library
            raise Broken(f"'{preloaded}' cannot be preloaded, build it anew: {_last_lines(err)}")
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
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _last_lines(text):
    lines = text.strip().splitlines()
    return " / ".join(lines[-3:]) if lines else "it printed nothing on stderr"


@contextlib.contextmanager
def understood(name, contender):
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise Broken(f"'{name}' for {contender} did not print what it measured ({why})") from None

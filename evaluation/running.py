# SPDX-License-Identifier: Apache-2.0
"""Takes the turns of a benchmark. The contenders rotate, with a process for each turn, so that a
disturbance of the machine falls on all of them alike."""

import datetime
import sys
import time

from .contenders import canonical
from .programs import Broken
from .samples import Samples

PATIENCE = 10  # times the estimated length of a turn, after which the contender has failed
LEAST_PATIENCE = 60  # seconds


def chosen_contenders(benchmark, asked, has):
    """The contenders to measure, and those that the program lacks."""
    wanted = list(benchmark.contenders) or has
    if asked.locks:
        chosen = {canonical(name) for name in asked.locks}
        wanted = [name for name in wanted if canonical(name) in chosen]
    return [name for name in wanted if name in has], [name for name in wanted if name not in has]


def rotated(contenders, turn):
    """Another contender begins each turn, so that none always follows the same neighbour."""
    first = turn % len(contenders)
    return contenders[first:] + contenders[:first]


class Run:
    """The turns of one benchmark."""

    def __init__(self, benchmark, asked, programs, build, contenders, left_out):
        self.benchmark = benchmark
        self.asked = asked
        self.programs = programs
        self.build = build
        self.contenders = contenders
        self.left_out = left_out
        self.samples = Samples()
        self.failures = {}
        self.rounds = 0  # complete ones
        self.interrupted = False

    def take_turns(self, progress):
        """Keeps what was measured when it is interrupted, and raises the interruption again."""
        self.measured = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        begin = time.monotonic()
        estimate = self.benchmark.turn_seconds(self.asked)
        try:
            for turn in range(self.benchmark.turns_for(self.asked)):
                for contender in rotated(self.contenders, turn):
                    progress.at(self.benchmark.name, contender)
                    if contender not in self.failures:
                        self._turn(turn, contender, estimate)
                    progress.add(estimate)
                self.rounds += 1
        except KeyboardInterrupt:
            self.interrupted = True
            raise
        finally:
            self.took = time.monotonic() - begin

    def _turn(self, turn, contender, estimate):
        patience = max(LEAST_PATIENCE, PATIENCE * estimate)
        options = self.benchmark.options_for(self.asked)
        try:
            measured = self.programs.turn(self.benchmark, contender, options, patience)
            for row, of, value in measured:
                self.samples.add(row, of, turn, value)
        except Broken as problem:
            self.failures[contender] = str(problem)

    def result(self):
        """In the format of results.schema.json."""
        lacks = "the program lacks it: it was not built, or its library is not installed"
        return {
            "measured": self.measured,
            "took_seconds": round(self.took, 1),
            "quick": self.asked.quick,
            "interrupted": self.interrupted,
            "turns": self.rounds,
            "options": self.benchmark.options_for(self.asked),
            "build": self.build,
            "rows": list(self.samples.as_rows()),
            "failures": [
                {"contender": name, "reason": reason} for name, reason in self.failures.items()
            ],
            "left_out": [{"contender": name, "reason": lacks} for name in self.left_out],
        }


def is_worth_keeping(new, old):
    """Whether a new result replaces the old one: one of an interruption may be worth less."""
    if not new["interrupted"]:
        return True
    if not new["rows"]:
        return False
    return old is None or old["quick"] or new["turns"] >= old["turns"]


class Progress:
    """A bar over the estimated seconds on a terminal; a line for each benchmark elsewhere."""

    def __init__(self, seconds, stream=sys.stderr):
        from tqdm import tqdm  # needed only here

        self.stream = stream
        self.is_shown = stream.isatty()
        self.bar = tqdm(
            total=seconds,
            file=stream,
            disable=not self.is_shown,
            dynamic_ncols=True,
            smoothing=0.1,
            bar_format="{percentage:3.0f}% {bar:20} {elapsed} gone, {remaining} left  {desc}",
        )

    def at(self, benchmark, contender):
        self.bar.set_description_str(f"{benchmark}: {contender}")

    def add(self, seconds):
        self.bar.update(seconds)

    def tick(self):
        self.bar.refresh()

    def say(self, line):
        if self.is_shown:
            self.bar.clear()
        print(line, file=self.stream, flush=True)
        if self.is_shown:
            self.bar.refresh()

    def table(self, text):
        """Prints to stdout."""
        if self.is_shown:
            self.bar.clear()
        print(text, flush=True)

    def close(self):
        self.bar.close()

"""The contenders take turns, one process each, so that what the machine does meanwhile falls on all
of them alike."""

import datetime
import sys
import time

from .contenders import canonical
from .programs import Broken
from .samples import Samples

PATIENCE = 10  # times as long as estimated, before a contender is given up
LEAST_PATIENCE = 60  # seconds


def chosen_contenders(benchmark, asked, has):
    """Who takes part, and who is asked for and not there."""
    wanted = list(benchmark.contenders) or has
    if asked.locks:
        chosen = {canonical(name) for name in asked.locks}
        wanted = [name for name in wanted if canonical(name) in chosen]
    return [name for name in wanted if name in has], [name for name in wanted if name not in has]


def rotated(contenders, turn):
    """Another one begins each time: nobody always follows the same neighbour."""
    first = turn % len(contenders)
    return contenders[first:] + contenders[:first]


class Run:
    """One benchmark from its first turn to its last, or to its interruption."""

    def __init__(self, benchmark, asked, programs, build, contenders, left_out):
        self.benchmark = benchmark
        self.asked = asked
        self.programs = programs
        self.build = build
        self.contenders = contenders
        self.left_out = left_out
        self.samples = Samples()
        self.failures = {}
        self.rounds = 0  # that are complete
        self.interrupted = False

    def take_turns(self, progress):
        """An interruption is left to the caller; what was measured is kept."""
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
            measured = self.benchmark.speaks.measure(
                self.programs, self.benchmark.runs, contender, options, patience
            )
            for row, of, value in measured:
                self.samples.add(row, of, turn, value)
        except Broken as problem:
            self.failures[contender] = str(problem)

    def result(self):
        """As results.schema.json has it."""
        lacks = "the program does not have it: it was not built, or its library is not installed"
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
    """Whether it replaces what was there. What an interruption left may be worth less."""
    if not new["interrupted"]:
        return True
    if not new["rows"]:
        return False
    return old is None or old["quick"] or new["turns"] >= old["turns"]


class Progress:
    """A bar over the estimated seconds on a terminal; a line for each benchmark elsewhere."""

    def __init__(self, seconds, stream=sys.stderr):
        from tqdm import tqdm  # which nobody else here needs

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

    def close(self):
        self.bar.close()

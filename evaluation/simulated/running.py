# SPDX-License-Identifier: Apache-2.0
"""Runs the simulations of a figure, and keeps their rows by seed as those of a benchmark are kept by turn."""

import datetime
import json
import os
import tempfile
import time
from pathlib import Path

from ..programs import Broken, understood
from ..samples import Row, Samples
from .figure import CALLED

SIMULATE, ADVISE = "readmost-simulate", "readmost-advise"
SEEDS = 3
TIMEOUT = 1800


def seeds(asked):
    return asked.runs or (1 if asked.quick else SEEDS)


def threads_of(run, asked):
    """The ends of a sweep when it is to be quick."""
    if asked.quick and len(run.threads) > 1:
        return (run.threads[0], run.threads[-1])
    return run.threads


def seconds(figure, asked):
    """The estimated length."""
    each = 0.3 if asked.quick else 1
    return sum(run.seconds * each for run in figure.runs) * seeds(asked) or 1


class Run:
    """The simulations of one figure."""

    def __init__(self, figure, asked, programs, build):
        self.figure = figure
        self.asked = asked
        self.programs = programs
        self.build = build
        self.samples = Samples()
        self.failures = {}

    def simulate(self, progress):
        self.made = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        begin = time.monotonic()
        self.commands = []
        if self.figure.contours:
            self._contours()
        for seed in range(seeds(self.asked)):
            for run in self.figure.runs:
                progress.at(self.figure.name, f"{run.workload}, seed {seed + 1}")
                self._run(run, seed)
                progress.add(seconds(self.figure, self.asked) / len(self.figure.runs) / seeds(self.asked))
        self.took = time.monotonic() - begin

    def _run(self, run, seed):
        words = run.words(self.figure.machine, seed + 1, threads_of(run, self.asked), self.asked.quick)
        if seed == 0:
            self.commands.append(" ".join(["readmost simulate", *words]))
        try:
            found = self._json(SIMULATE, words)
            with understood("readmost simulate", run.workload):
                for result in found:
                    self._add(run, seed, result)
        except Broken as problem:
            self.failures[run.called or run.workload] = str(problem)

    def _json(self, program, words):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "out.json")
            self.programs.output(program, [*words, "--json", str(path)], TIMEOUT)
            return json.loads(path.read_text(encoding="utf-8"))

    def _add(self, run, seed, result):
        contender = run.called or CALLED.get(result["lock"], result["lock"])
        for copies in run.copies or (1,):
            place = run.x if run.x is not None else copies if run.copies else result["threads"]
            for panel in self.figure.panels:
                if run.tables and panel.table not in run.tables:
                    continue
                for x, value in panel.points(result, place):
                    row = Row(panel.table, f"{x:g}", panel.unit, panel.better, x)
                    self.samples.add(row, contender, seed, None if value is None else value * copies)

    def _contours(self):
        words = ["--machine", self.figure.machine]
        path = "FILE.json"
        self.commands.append(" ".join(["readmost advise", *words, "--contours", path]))
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "out.json")
                self.programs.output(ADVISE, [*words, "--contours", str(path)], TIMEOUT)
                found = json.loads(path.read_text(encoding="utf-8"))
            with understood("readmost advise", "the contours"):
                tables = {panel.table for panel in self.figure.panels}
                for plot in found["plots"]:
                    for curve in plot["curves"]:
                        for x, value in curve["points"]:
                            if plot["title"] in tables:
                                row = Row(plot["title"], f"{x:g}", "share", "neither", x)
                                self.samples.add(row, curve["name"], 0, value)
        except Broken as problem:
            self.failures["contours"] = str(problem)

    def result(self):
        """In the format of results.schema.json."""
        return {
            "simulated": self.made,
            "took_seconds": round(self.took, 1),
            "quick": self.asked.quick,
            "seeds": seeds(self.asked),
            "machine": self.figure.machine,
            "commands": self.commands,
            "build": self.build,
            "rows": relative(self.figure, list(self.samples.as_rows())),
            "failures": [{"contender": name, "reason": reason} for name, reason in self.failures.items()],
        }


def relative(figure, rows):
    """Panels that are relative to a contender have shares of its values in place of the values."""
    base = {panel.table: panel.relative_to for panel in figure.panels if panel.relative_to}
    of = {
        (row["table"], row["name"]): row["values"]
        for row in rows
        if row["contender"] == base.get(row["table"])
    }
    for row in rows:
        if row["table"] in base:
            its = of.get((row["table"], row["name"]), [])
            row["values"] = [
                mine / other if mine is not None and other else None
                for mine, other in zip(row["values"], its)
            ]
    return rows


def missing_program(figure, folder):
    """The program that the figure needs and that was not built; None if it is there."""
    name = ADVISE if figure.contours else SIMULATE
    needed = figure.contours or figure.runs
    return name if needed and not os.access(Path(folder) / name, os.X_OK) else None

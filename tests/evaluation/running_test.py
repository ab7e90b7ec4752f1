# SPDX-License-Identifier: Apache-2.0
"""Turns, with shell scripts as programs."""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

import synthetic
from evaluation import results, running
from evaluation.benchmarks import Asked, Benchmark
from evaluation.programs import Broken, Programs
from evaluation.samples import Row

ROW = {"table": "t", "name": "2", "x": 2, "unit": "per second", "better": "more", "value": 5}
TURN = f"echo '{json.dumps({'contender': 'x', 'clock_ns': 20, 'rows': [ROW]})}'"
BENCHMARK = Benchmark("p", "b")


class Silent:
    def at(self, *_):
        pass

    def add(self, _):
        pass


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.programs = Programs(self.folder)

    def program(self, name, script):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + textwrap.dedent(script))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run_of(self, contenders, **more):
        one = Benchmark("p", "b", start=0.1, **more)
        build = {"version": "0"}
        return running.Run(one, Asked(runs=3), self.programs, build, list(contenders), [])


class Turns(Case):
    def test_another_contender_begins_each_time(self):
        self.program("p", f'echo "$3" >> {self.folder}/log; {TURN}')
        run = self.run_of("abc")
        run.take_turns(Silent())
        self.assertEqual((self.folder / "log").read_text().split(), list("abcbcacab"))
        results.check({**results.empty(synthetic.MACHINE), "benchmarks": {"b": run.result()}})
        self.assertEqual([row["values"] for row in run.result()["rows"]], [[5, 5, 5]] * 3)

    def test_a_contender_that_fails_is_told_and_the_others_go_on(self):
        self.program("p", f'[ "$3" = b ] && {{ echo "a write is lost" >&2; exit 3; }}; {TURN}')
        run = self.run_of("ab")
        run.take_turns(Silent())
        (failure,) = run.result()["failures"]
        self.assertEqual(failure["contender"], "b")
        self.assertRegex(failure["reason"], "p b --turn-of b.*status 3: a write is lost")
        self.assertEqual({row["contender"] for row in run.result()["rows"]}, {"a"})

    def test_options_are_passed_on(self):
        one = Benchmark("p", "b", seconds=0.5, threads=(1, 2))
        self.assertEqual(one.options_for(Asked()), ["--seconds", "0.5", "--threads", "1", "2"])
        self.assertEqual(one.options_for(Asked(quick=True)), ["--quick"])
        few = Benchmark("p", "b", threads=(1, 2, 4), quick_threads=(1, 2))
        self.assertEqual(few.options_for(Asked(quick=True)), ["--quick", "--threads", "1", "2"])
        asked = Asked(seconds=2, threads=(8,))
        self.assertEqual(one.options_for(asked), ["--seconds", "2", "--threads", "8"])
        self.assertEqual(one.turns_for(Asked(quick=True)), 1)
        self.assertEqual(one.turns_for(Asked(quick=True, runs=4)), 4)

    def test_who_is_not_there_is_left_out_by_name(self):
        one = Benchmark("p", "b", contenders=("a", "b", "c"))
        self.assertEqual(running.chosen_contenders(one, Asked(), ["c", "a"]), (["a", "c"], ["b"]))
        only = Asked(locks=("a",))
        self.assertEqual(running.chosen_contenders(one, only, ["c", "a"]), (["a"], []))

    def test_contenders_are_chosen_by_any_of_their_names(self):
        one, has = BENCHMARK, ["readmost::shared_mutex", "glibc", "ba"]
        asked = Asked(locks=("prwlock", "pthread"))
        self.assertEqual(running.chosen_contenders(one, asked, has), (has[:2], []))

    def test_an_interruption_keeps_what_was_measured(self):
        self.program("p", f'[ "$3" = b ] && kill -INT {os.getpid()} && sleep 5; {TURN}')
        run = self.run_of("ab")
        with self.assertRaises(KeyboardInterrupt):
            run.take_turns(Silent())
        result = run.result()
        self.assertTrue(result["interrupted"])
        self.assertEqual([row["contender"] for row in result["rows"]], ["a"])

    def test_an_interruption_replaces_nothing_better(self):
        full = {**synthetic.benchmark_result([{**ROW}]), "interrupted": False}
        part = {**full, "interrupted": True, "turns": 1}
        self.assertTrue(running.is_worth_keeping(part, None))
        self.assertFalse(running.is_worth_keeping(part, full))
        self.assertTrue(running.is_worth_keeping(part, {**full, "quick": True}))
        self.assertTrue(running.is_worth_keeping({**full, "quick": True}, full))
        self.assertFalse(running.is_worth_keeping({**part, "rows": []}, None))


class Processes(Case):
    def test_that_do_not_end_are_ended_with_all_they_started(self):
        self.program("p", f"sleep 60 & echo $! > {self.folder}/child; wait")
        begin = time.monotonic()
        with self.assertRaisesRegex(Broken, "'p' had not ended after 1 seconds"):
            self.programs.output("p", [], 1)
        self.assertLess(time.monotonic() - begin, 20)
        child = int((self.folder / "child").read_text())
        state = Path(f"/proc/{child}/stat")
        for _ in range(100):
            if not state.exists() or " Z " in state.read_text():
                return
            time.sleep(0.05)
        self.fail("the child is left behind")

    def test_that_do_not_load_the_library_are_told(self):
        self.program("p", "echo \"ERROR: ld.so: object '$LD_PRELOAD' cannot be preloaded\" >&2")
        with self.assertRaisesRegex(Broken, "'.*pthread.so' cannot be preloaded, build it anew: ERROR"):
            self.programs.turn(BENCHMARK, "preloaded", [], 10)

    def test_that_crash_are_told_by_signal(self):
        self.program("p", "kill -SEGV $$")
        with self.assertRaisesRegex(Broken, "'p' was ended by SIGSEGV"):
            self.programs.output("p", [], 10)

    def test_that_are_missing_are_told(self):
        with self.assertRaisesRegex(Broken, "cannot be started: No such file"):
            self.programs.output("none", [], 10)

    def test_are_not_given_what_was_meant_for_others(self):
        self.program("p", 'echo "[$LD_PRELOAD$READMOST_LOCK]"')
        os.environ.update(READMOST_LOCK="ba")
        self.addCleanup(os.environ.pop, "READMOST_LOCK")
        self.assertEqual(self.programs.output("p", [], 10), "[]\n")

    def test_that_print_nonsense_are_told(self):
        self.program("p", "echo hello")
        with self.assertRaisesRegex(Broken, "'b' for a did not print what it measured"):
            self.programs.turn(BENCHMARK, "a", [], 10)

    def test_name_their_benchmarks_and_contenders(self):
        self.program("p", """\
            case $2$1 in
              --list*) echo "sections of 1 us"; echo pthread ;;
              --help) printf 'usage: p\\nBenchmarks:\\n  b\\n' ;;
            esac""")
        self.assertTrue(self.programs.has(BENCHMARK))
        self.assertFalse(self.programs.has(Benchmark("p", "c")))
        self.assertFalse(self.programs.has(Benchmark("none", "b")))
        names = self.programs.contenders(BENCHMARK)
        self.assertEqual(names, ["sections of 1 us", "pthread"])
        names = self.programs.contenders(Benchmark("p", "b", preloads=("preloaded",)))
        self.assertEqual(names, ["sections of 1 us", "preloaded", "pthread"])

    def test_print_a_turn_as_json(self):
        self.program("p", TURN)
        ((row, contender, value),) = self.programs.turn(BENCHMARK, "a", [], 10)
        self.assertEqual((row, contender, value), (Row("t", "2", "per second", "more", 2), "a", 5))

    def test_are_given_the_library_for_the_preloaded_lock(self):
        self.program("p", f'echo "$LD_PRELOAD $*" > {self.folder}/log; {TURN}')
        self.assertEqual(self.programs.library.name, "libreadmost-pthread.so")
        self.programs.library = "libm.so.6"  # one that can be preloaded
        self.programs.turn(BENCHMARK, "preloaded", ["--quick"], 10)
        told = (self.folder / "log").read_text()
        self.assertRegex(told, "^libm.so.6 b --turn-of pthread --quick$")

    def test_are_told_the_preference_of_the_preloaded_lock(self):
        self.program("p", f'echo "[$READMOST_PREFER] $3" >> {self.folder}/log; {TURN}')
        self.programs.library = "libm.so.6"
        for contender in ("preloaded", "preloaded-writer", "preloaded-phase-fair", "pthread"):
            self.programs.turn(BENCHMARK, contender, [], 10)
        told = (self.folder / "log").read_text().splitlines()
        self.assertEqual(
            told, ["[] pthread", "[writer] pthread", "[phase-fair] pthread", "[] pthread"]
        )


class Terminal(unittest.TestCase):
    def test_shows_a_bar_there_and_lines_elsewhere(self):
        script = (
            "import sys; from evaluation.running import Progress; p = Progress(10); "
            "p.at('alternator', 'ba'); p.add(5); p.tick(); p.say('half'); p.close()"
        )
        plain = subprocess.run(
            [sys.executable, "-B", "-c", script], capture_output=True, text=True, check=True
        )
        self.assertEqual(plain.stderr, "half\n")
        shown = subprocess.run(
            ["script", "-qec", f'stty cols 90; {sys.executable} -B -c "{script}"', "/dev/null"],
            capture_output=True, text=True, check=True,
        )
        self.assertRegex(shown.stdout, r"50%.*left.*alternator: ba")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()

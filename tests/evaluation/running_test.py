"""How turns are taken: with programs that are shell scripts here."""

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
from evaluation.programs import Broken, Comparison, GoogleBenchmark, Programs, WakeUp
from evaluation.samples import Row

ROW = {"table": "t", "name": "2", "x": 2, "unit": "per second", "better": "more", "value": 5}
TURN = f"echo '{json.dumps({'contender': 'x', 'clock_ns': 20, 'rows': [ROW]})}'"


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
        one = Benchmark("p", start=0.1, **more)
        build = {"version": "0"}
        return running.Run(one, Asked(runs=3), self.programs, build, list(contenders), [])


class Turns(Case):
    def test_another_contender_begins_each_time(self):
        self.program("p", f'echo "$2" >> {self.folder}/log; {TURN}')
        run = self.run_of("abc")
        run.take_turns(Silent())
        self.assertEqual((self.folder / "log").read_text().split(), list("abcbcacab"))
        results.check({**results.empty(synthetic.MACHINE), "benchmarks": {"p": run.result()}})
        self.assertEqual([row["values"] for row in run.result()["rows"]], [[5, 5, 5]] * 3)

    def test_a_contender_that_fails_is_told_and_the_others_go_on(self):
        self.program("p", f'[ "$2" = b ] && {{ echo "a write is lost" >&2; exit 3; }}; {TURN}')
        run = self.run_of("ab")
        run.take_turns(Silent())
        (failure,) = run.result()["failures"]
        self.assertEqual(failure["contender"], "b")
        self.assertRegex(failure["reason"], "p --turn-of b.*status 3: a write is lost")
        self.assertEqual({row["contender"] for row in run.result()["rows"]}, {"a"})

    def test_options_are_passed_on(self):
        one = Benchmark("p", seconds=0.5, threads=(1, 2))
        self.assertEqual(one.options_for(Asked()), ["--seconds", "0.5", "--threads", "1", "2"])
        self.assertEqual(one.options_for(Asked(quick=True)), ["--quick"])
        few = Benchmark("p", threads=(1, 2, 4), quick_threads=(1, 2))
        self.assertEqual(few.options_for(Asked(quick=True)), ["--quick", "--threads", "1", "2"])
        asked = Asked(seconds=2, threads=(8,))
        self.assertEqual(one.options_for(asked), ["--seconds", "2", "--threads", "8"])
        self.assertEqual(one.turns_for(Asked(quick=True)), 1)
        self.assertEqual(one.turns_for(Asked(quick=True, runs=4)), 4)

    def test_who_is_not_there_is_left_out_by_name(self):
        one = Benchmark("p", contenders=("a", "b", "c"))
        self.assertEqual(running.chosen_contenders(one, Asked(), ["c", "a"]), (["a", "c"], ["b"]))
        only = Asked(locks=("a",))
        self.assertEqual(running.chosen_contenders(one, only, ["c", "a"]), (["a"], []))

    def test_contenders_are_chosen_by_any_of_their_names(self):
        one, has = Benchmark("p"), ["readmost::shared_mutex", "glibc", "ba"]
        asked = Asked(locks=("prwlock", "pthread"))
        self.assertEqual(running.chosen_contenders(one, asked, has), (has[:2], []))

    def test_an_interruption_keeps_what_was_measured(self):
        self.program("p", f'[ "$2" = b ] && kill -INT {os.getpid()} && sleep 5; {TURN}')
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
        preloaded = Programs(self.folder, preloaded="/none.so")
        with self.assertRaisesRegex(Broken, "'/none.so' cannot be preloaded, build it anew: ERROR: ld.so"):
            preloaded.output("p", [], 10)

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
        for speaks in (Comparison(), GoogleBenchmark("t")):
            with self.assertRaisesRegex(Broken, "'p' for a did not tell what it measured"):
                speaks.measure(self.programs, "p", "a", [], 10)
        with self.assertRaisesRegex(Broken, "'p' for all did not tell"):
            WakeUp().measure(self.programs, "p", "all", [], 10)

    def test_name_contenders_line_by_line(self):
        self.program("p", "echo 'sections of 1 us'; echo memory")
        names = Comparison().contenders(self.programs, "p")
        self.assertEqual(names, ["sections of 1 us", "memory"])


class Formats(Case):
    def test_of_a_comparison(self):
        self.program("p", TURN)
        ((row, contender, value),) = Comparison().measure(self.programs, "p", "a", [], 10)
        self.assertEqual((row, contender, value), (Row("t", "2", "per second", "more", 2), "a", 5))

    def test_of_wake_up(self):
        row = {"sleepers": 63, "strategy": "broadcast"}
        row |= {"latency": {"p50": 1.0, "p90": 2.0}, "waker_busy": {"p50": 3.0}}
        self.program("p", f"echo '{json.dumps({'rows': [row]})}' > $2")
        found = WakeUp().measure(self.programs, "p", "all", [], 10)
        self.assertEqual(
            [(one.table, one.x, who, value) for one, who, value in found],
            [
                ("Half awake", 63, "broadcast", 1.0),
                ("90% awake", 63, "broadcast", 2.0),
                ("Waker busy", 63, "broadcast", 3.0),
            ],
        )

    def test_of_google_benchmark(self):
        one = {"name": "read/a/real_time/threads:2", "threads": 2, "items_per_second": 1e9}
        self.program("p", f"echo '{json.dumps({'benchmarks': [one]})}'")
        ((row, _, value),) = GoogleBenchmark("t").measure(self.programs, "p", "a", [], 10)
        self.assertEqual((row.x, value), (2, 2))


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

# SPDX-License-Identifier: Apache-2.0
"""`readmost bench` and `readmost report` from end to end, and what they say when they cannot."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import synthetic
from evaluation import results

COMMAND = os.environ["READMOST_COMMAND"]
LISTS = "[ $1 = --help ] && printf 'Benchmarks:\\n  update_throughput\\n' && exit;"


# Whose file is soon read.
EVERY = synthetic.results(synthetic.ours_ahead(1))
OF_ONE_BENCHMARK = {**EVERY, "benchmarks": {"alternator": EVERY["benchmarks"]["alternator"]}}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def readmost(self, *words, **environment):
        return subprocess.run(
            [COMMAND, *map(str, words)],
            capture_output=True, text=True, timeout=200, check=False,
            cwd=self.folder, env={**os.environ, **environment},
        )

    def program(self, name, script):
        path = self.folder / "bin" / name
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def refusal(self, *words, **environment):
        end = self.readmost(*words, **environment)
        self.assertEqual(end.returncode, 125, end.stderr)
        self.assertEqual(end.stderr.count("\n"), 1, end.stderr)
        self.assertTrue(end.stderr.startswith(f"readmost {words[0]}: "), end.stderr)
        return end.stderr


class EndToEnd(Case):
    def test_a_figure_is_measured_and_shown(self):
        end = self.readmost("bench", "fcp-22", "--quick", "--locks", "readmost::rcu")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertIn("about", end.stderr)
        found = results.load(self.folder / results.DEFAULT_FILE)
        one = found["benchmarks"]["update_throughput"]
        self.assertEqual((one["quick"], one["turns"], one["failures"]), (True, 1, []))
        self.assertEqual({row["contender"] for row in one["rows"]}, {"readmost::rcu"})
        self.assertTrue(one["build"]["compiler"])

        end = self.readmost("report", "out.html", "--markdown", "out.md")
        self.assertEqual((end.returncode, end.stdout), (0, "out.html\nout.md\n"), end.stderr)
        self.assertIn("</svg>readmost::rcu</li>", (self.folder / "out.html").read_text())
        self.assertIn("| FCP Figure 22:", (self.folder / "out.md").read_text())

    def test_tables_are_printed(self):
        words = ("bench", "rcu_read_pair", "--quick", "--tables", "--locks", "readmost::rcu", "empty")
        end = self.readmost(*words)
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertRegex(end.stdout, "Read section\n +readmost::rcu +empty")
        self.assertIn("Readmost is", end.stdout)

    def test_a_figure_is_simulated_and_shown(self):
        end = self.readmost("bench", "simulated-rcu-2", "simulated-rcu-28", "--quick", "--output", "s.json")
        if "not built" in end.stderr:
            self.skipTest("simulations are not built under sanitizers")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertIn("2 simulated figures, about", end.stderr)
        found = results.load(self.folder / "s.json")["simulated"]
        self.assertEqual(set(found), {"rcu-2", "rcu-28"})
        self.assertEqual([one["failures"] for one in found.values()], [[], []])
        results.save(self.folder / "r.json", synthetic.results(synthetic.ours_ahead(1)))
        end = self.readmost("report", "out.html", "--results", "r.json", "--simulated", "s.json")
        self.assertEqual(end.returncode, 0, end.stderr)
        page = (self.folder / "out.html").read_text()
        self.assertEqual(page.count('class="figure simulated"'), 2)
        self.assertIn("readmost simulate --machine p3-700x4 --workload hash-table", page)

    def test_results_are_added_to_what_is_there(self):
        options = ("--quick", "--output", "both.json", "--locks")
        for name, contender in (("fcp-22", "readmost::rcu"), ("fcp-16", "readmost::rcu_hash_map")):
            end = self.readmost("bench", name, *options, contender)
            self.assertEqual(end.returncode, 0, end.stderr)
        both = results.load(self.folder / "both.json")["benchmarks"]
        self.assertEqual(set(both), {"update_throughput", "hash_table"})

    def test_everything_is_listed(self):
        end = self.readmost("bench", "--list")
        self.assertEqual(end.returncode, 0)
        for name in ("bravo-4a", "fcp-table3", "rcu-27", "own-programs", "rwbench_locks", "simulated-bravo-4f"):
            self.assertIn(name, end.stdout)

    def test_a_list_may_be_read_in_part(self):
        with subprocess.Popen([COMMAND, "bench", "--list"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as listing:
            listing.stdout.close()
            self.assertEqual((listing.wait(timeout=60), listing.stderr.read()), (0, ""))

    def test_help_fits_a_terminal(self):
        for command in ("bench", "report"):
            end = self.readmost(command, "--help")
            self.assertEqual(end.returncode, 0)
            self.assertIn("Examples:", end.stdout)
            self.assertLessEqual(max(map(len, end.stdout.splitlines())), 100)


class Refusals(Case):
    def test_of_names(self):
        hint = "'bravo-4x'; did you mean 'bravo-4.'.*--list"
        self.assertRegex(self.refusal("bench", "bravo-4x"), hint)
        self.assertRegex(self.refusal("bench", "simulated-bravo-4x"), "did you mean 'simulated-bravo-4.'")
        self.assertIn("--list", self.refusal("bench"))
        self.assertRegex(self.refusal("bench", "fcp-22", "--locks", "bab"), "'bab'.*readmost::rcu")

    def test_of_options(self):
        self.assertRegex(self.refusal("bench", "all", "--runs", "0"), "'0' is not .* from 1")
        self.assertRegex(self.refusal("bench", "all", "--seconds", "x"), "'x' is not a number")
        self.assertIn("--fast", self.refusal("bench", "all", "--fast"))

    def test_of_files(self):
        words = self.refusal("bench", "all", "--output", "none/x.json")
        self.assertRegex(words, "none/x.json.*no folder.*make it")
        self.assertRegex(self.refusal("report", "out.html"), "no results.*readmost bench all")
        self.assertIn("out.html", self.refusal("report"))
        results.save(self.folder / "r.json", OF_ONE_BENCHMARK)
        words = self.refusal("report", "none/out.html", "--results", "r.json")
        self.assertRegex(words, "none/out.html.*No such file")
        self.assertIn("another machine", self.refusal("bench", "fcp-22", "--output", "r.json"))

    def test_of_programs_that_are_not_built(self):
        words = self.refusal("bench", "all", "--programs", self.folder)
        self.assertRegex(words, f"no benchmarks in '{self.folder}'.*make bench")

    def test_of_simulations(self):
        words = self.refusal("bench", "simulated", "--programs", self.folder)
        self.assertRegex(words, "readmost-advise, readmost-simulate: not built in .*make test")
        self.assertRegex(self.refusal("bench", "simulated", "--locks", "ba"), "--locks: .*their own")
        results.save(self.folder / "r.json", OF_ONE_BENCHMARK)
        words = self.refusal("report", "out.html", "--results", "r.json", "--simulated", "none.json")
        self.assertRegex(words, "none.json")

    def test_of_a_program_that_does_not_tell_its_contenders(self):
        self.program("bench_rcu", f"{LISTS} echo broken >&2; exit 4")
        words = self.refusal("bench", "fcp-22", "--programs", self.folder / "bin")
        self.assertRegex(words, "update_throughput --list.*status 4: broken; 'make bench'")

    def test_of_python(self):
        words = self.refusal("bench", "all", READMOST_PYTHON="/none/python3")
        self.assertRegex(words, "/none/python3.*install python3")
        bare = self.folder / "python3"  # an interpreter that has no module
        bare.write_text("#!/bin/sh\nexit 1\n")
        bare.chmod(0o755)
        words = self.refusal("report", "out.html", READMOST_PYTHON=str(bare))
        self.assertRegex(words, "has no jinja2.*scripts/setup.*python3-jinja2")
        words = self.refusal("report", "out.html", READMOST_EVALUATION="/none")
        self.assertRegex(words, "no evaluation package at '/none'.*READMOST_EVALUATION")

    def test_a_contender_that_fails_is_told_in_the_end(self):
        script = "[ $2 = --list ] && echo readmost::rcu && exit; echo broken >&2; exit 4"
        self.program("bench_rcu", f"{LISTS} {script}")
        end = self.readmost("bench", "fcp-22", "--quick", "--programs", self.folder / "bin")
        self.assertEqual(end.returncode, 1)
        self.assertRegex(end.stderr, "update_throughput: readmost::rcu failed: .*status 4: broken")
        end = self.readmost("report", "out.html")
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertIn("status 4: broken", (self.folder / "out.html").read_text())
        kept = json.loads((self.folder / results.DEFAULT_FILE).read_text())
        self.assertEqual(kept["benchmarks"]["update_throughput"]["rows"], [])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Counts of `make kernel-check` beside the figures of locks inside the kernel."""

import json
import re
import tempfile
import unittest
from pathlib import Path

import synthetic
from evaluation import figures, kernel, markdown, report
from evaluation.failure import Failure

INSIDE = {figure.id: figure for figure in figures.ALL if figure.id in kernel.PROGRAMS}


def row(variant, program, **more):
    known = variant != "off"
    return {
        "kernel": "plain", "cpus": 4, "preempt": "full", "variant": variant, "program": program,
        "operations": 10, "faults": 2000, "fast_reads": None, "counted_reads": 345 if known else None,
        "revocations": 6 if known else None, "unbiased_writes": 7 if known else None,
        "writers_slept": 8 if known else None, "converted": None,
        "interrupts": 9 if variant == "prwlock" else None, "switches": 1011, "seconds": None, **more,
    }


def counts(rows=None, accelerator="tcg"):
    programs = ("histogram", "wordcount", "indexing", "fault", "mmap")
    variants = ("off", "paper", "weighed", "prwlock")
    of_all = [row(variant, program) for variant in variants for program in programs]
    return {"format": 1, "release": "6.1.192", "accelerator": accelerator, "rows": of_all if rows is None else rows}


def results(of):
    return {**synthetic.results(synthetic.at_random(1, 0.3)), "benchmarks": {}, "kernel": of}


class Kernel(unittest.TestCase):
    def load(self, words):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "counts.json"
            path.write_text(words, encoding="utf-8")
            return kernel.load(path)

    def test_every_figure_with_programs_is_one_that_cannot_be_tested_here(self):
        self.assertEqual(set(INSIDE), set(kernel.PROGRAMS))
        for figure in INSIDE.values():
            self.assertTrue(figure.elsewhere, figure.id)

    def test_counts_are_told_by_variant(self):
        (table,) = kernel.tables(INSIDE["fcp-12"], {"kernel": counts()})
        self.assertEqual(
            table["title"], "The program histogram, counted in an emulated guest of Linux 6.1.192 with 4 CPUs"
        )
        self.assertEqual(table["body"][0], ("rwsem", ["2,000", "all", "-", "-", "-", "1,011"]))
        self.assertEqual(table["body"][1], ("prwlock", ["2,000", "345", "6", "8", "9", "1,011"]))
        told = kernel.told(INSIDE["bravo-7"], {"kernel": counts()})
        self.assertIn("BRAVO, the paper's policy 2,000 faults, 345 reads that write the lock", told)

    def test_only_the_guests_that_are_named_are_shown(self):
        others = [row("off", "histogram", faults=1, cpus=8), row("prwlock", "histogram", faults=1, kernel="lockdep")]
        (table,) = kernel.tables(INSIDE["fcp-12"], {"kernel": counts(others + counts()["rows"])})
        self.assertEqual([cells[0] for _, cells in table["body"]], ["2,000", "2,000"])

    def test_nothing_is_told_without_all_variants(self):
        self.assertEqual(kernel.tables(INSIDE["fcp-12"], {}), [])
        self.assertEqual(kernel.tables(INSIDE["fcp-12"], {"kernel": counts([row("prwlock", "histogram")])}), [])
        self.assertEqual(kernel.told(INSIDE["fcp-12"], {"kernel": counts([])}), "")

    def test_seconds_are_shown_under_kvm_only(self):
        timed = [row(variant, "histogram", seconds=1.5) for variant in ("off", "prwlock")]
        (table,) = kernel.tables(INSIDE["fcp-12"], {"kernel": counts(timed, "kvm")})
        self.assertIn("measured in a guest under KVM", table["title"])
        self.assertEqual((table["head"][-1], table["body"][1][1][-1]), ("Seconds", "1.50"))
        (table,) = kernel.tables(INSIDE["fcp-12"], {"kernel": counts(timed)})
        self.assertNotIn("Seconds", table["head"])

    def test_page_and_markdown_have_them_beside_the_figures(self):
        page = report.html(results(counts()))
        for figure in INSIDE.values():
            programs = kernel.PROGRAMS[figure.id][0]
            captions = re.findall(rf"<caption>{figure.source}: The program ", page)
            self.assertEqual(len(captions), len(programs), figure.id)
        (line,) = [one for one in markdown.text(results(counts())).splitlines() if "FCP Figure 14" in one]
        self.assertIn("prwlock 2,000 faults, 345 reads that write the lock", line)

    def test_other_files_are_refused(self):
        self.assertEqual(self.load(json.dumps(counts())), counts())
        for words in ("", "[]", json.dumps({**counts(), "rows": [{"kernel": "plain"}]}), json.dumps({"format": 1})):
            with self.assertRaisesRegex(Failure, "does not hold the counts"):
                self.load(words)
        with self.assertRaisesRegex(Failure, "cannot be read: .*make kernel-check"):
            kernel.load("/nonexistent/counts.json")


if __name__ == "__main__":
    unittest.main()

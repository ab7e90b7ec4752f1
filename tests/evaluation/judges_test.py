# SPDX-License-Identifier: Apache-2.0
"""Verdicts: that each kind can be said, and that no judge always says the same."""

import unittest

import synthetic
from evaluation import figures, report
from evaluation.figures import judging
from evaluation.figures.judging import Check, Findings, Missing, decide
from evaluation.samples import Samples


class Decisions(unittest.TestCase):
    def test_a_claim_holds_when_every_check_passes(self):
        verdict = decide([Check(True, "a"), Check(True, "b")], "2 CPUs are not 64.")
        self.assertEqual((verdict.kind, verdict.why), (judging.HOLDS, ""))

    def test_it_holds_in_part_when_some_pass(self):
        verdict = decide([Check(True, "a"), Check(False, "b")], "2 CPUs are not 64.")
        self.assertEqual((verdict.kind, verdict.why), (judging.IN_PART, "2 CPUs are not 64."))

    def test_it_holds_in_part_when_some_could_not_be_made(self):
        self.assertEqual(decide([Check(True, "a"), Check(None, "b")]).kind, judging.IN_PART)

    def test_it_does_not_hold_when_none_passes(self):
        self.assertEqual(decide([Check(False, "a"), Check(None, "b")]).kind, judging.FAILS)

    def test_it_cannot_be_tested_when_no_check_could_be_made(self):
        self.assertEqual(decide([Check(None, "a")]).kind, judging.UNTESTABLE)


class Sentences(unittest.TestCase):
    def findings(self, better, unit, **values):
        row = {"table": "t", "name": "2", "x": 2, "unit": unit, "better": better}
        rows = [{**row, "contender": name, "values": turns} for name, turns in values.items()]
        return Findings({"b": Samples(rows)}, synthetic.MACHINE)

    def test_more_is_said_in_units(self):
        found = self.findings("more", "loops per second", prwlock=[20, 30], pthread=[10, 10])
        check = judging.at_least(found, "t", 2, "prwlock", "pthread", 2)
        self.assertTrue(check.passed)
        self.assertEqual(
            check.told,
            "prwlock has 2.50 (2.00 to 3.00) times the loops per second of pthread at 2"
            " (25 against 10)",
        )

    def test_what_is_counted_needs_no_name(self):
        found = self.findings("more", "per second", prwlock=[20], pthread=[10])
        told = judging.at_least(found, "t", 2, "prwlock", "pthread", 2).told
        self.assertIn("has 2.00 times the number per second of pthread", told)

    def test_the_worst_place_is_told_in_words(self):
        found = self.findings("more", "per second", prwlock=[20], pthread=[10])
        told = judging.never_below(found, "t", [2], "prwlock", "pthread", 1).told
        self.assertIn("of pthread at 2 threads (", told)
        self.assertEqual(judging.at_each("reader")(1), "at 1 reader")

    def test_less_time_is_faster(self):
        found = self.findings("less", "ns", prwlock=[20], pthread=[10])
        check = judging.at_least(found, "t", 2, "prwlock", "pthread", 1)
        self.assertFalse(check.passed)
        told = "prwlock is 0.50 times as fast as pthread at 2 (20 against 10 ns)"
        self.assertEqual(check.told, told)

    def test_what_is_missing_is_named(self):
        with self.assertRaisesRegex(Missing, "ba in 't' at 2"):
            judging.at_least(self.findings("more", "x", prwlock=[1]), "t", 2, "prwlock", "ba", 1)

    def test_few_cpus_are_the_reason(self):
        findings = Findings({}, {"cpus": 2})
        self.assertEqual(judging.few_cpus(findings, 64), "2 CPUs are not 64.")
        self.assertEqual(judging.few_cpus(findings, 2), "")


class Judges(unittest.TestCase):
    def kinds(self, figure, results):
        return report.verdict_of(figure, results).kind

    def test_none_always_says_the_same(self):
        seen = {figure.id: set() for figure in figures.MEASURED}
        for seed in range(200):
            orders = (0.02, 0.3, 1.5, 4)[seed % 4]
            values = synthetic.at_random(seed, orders)
            results = synthetic.results(values, cpus=2 if seed % 3 else 4)
            for figure in figures.MEASURED:
                seen[figure.id].add(self.kinds(figure, results))
        for figure, kinds in seen.items():
            self.assertGreater(len(kinds), 1, f"{figure} always says {kinds}")
            self.assertNotIn(judging.NOT_MEASURED, kinds, figure)

    def test_ahead_is_not_judged_as_behind(self):
        ahead = synthetic.results(synthetic.ours_ahead(100))
        behind = synthetic.results(synthetic.ours_ahead(0.01))
        for name in ("fcp-23", "fcp-8.4", "own-programs", "own-grace-period"):
            (figure,) = figures.named(name)
            self.assertEqual(self.kinds(figure, ahead), judging.HOLDS, name)
            self.assertEqual(self.kinds(figure, behind), judging.FAILS, name)

    def test_the_longest_wait_may_be_twice_that_of_glibc(self):
        (figure,) = figures.named("own-longest-wait")
        for times, kind in ((0.51, judging.HOLDS), (0.49, judging.FAILS)):
            results = synthetic.results(synthetic.ours_ahead(times))
            self.assertEqual(self.kinds(figure, results), kind, times)

    def test_what_was_not_measured_is_not_judged(self):
        nothing = {**synthetic.results(synthetic.ours_ahead(1)), "benchmarks": {}}
        for figure in figures.MEASURED:
            self.assertEqual(self.kinds(figure, nothing), judging.NOT_MEASURED, figure.id)

    def test_where_all_rates_are_zero_nothing_is_said(self):
        still = synthetic.results(lambda better, contender: 0.0)
        for figure in figures.MEASURED:
            report.verdict_of(figure, still)
        self.assertEqual(self.kinds(figures.named("fcp-22")[0], still), judging.NOT_MEASURED)

    def test_what_needs_another_kernel_cannot_be_tested(self):
        kernel = [figure for figure in figures.ALL if figure.elsewhere]
        self.assertGreaterEqual(len(kernel), 6)
        for figure in kernel:
            verdict = report.verdict_of(figure, synthetic.results(synthetic.ours_ahead(1)))
            self.assertEqual((verdict.kind, verdict.why), (judging.UNTESTABLE, figure.elsewhere))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Medians, ratios and the summary."""

import math
import unittest

import synthetic
from evaluation import benchmarks, contenders, figures, summary, tables
from evaluation.samples import Row, Samples, text

MORE = Row("speed", "2", "per second", "more", 2)
LESS = Row("time", "median", "ns", "less")


def samples_of(row, **values):
    found = Samples()
    for contender, turns in values.items():
        for turn, value in enumerate(turns):
            if value is not None:
                found.add(row, contender, turn, value)
    return found


class Verdicts(unittest.TestCase):
    def test_whoever_of_ours_was_measured_is_judged(self):
        for ours in ("prwlock", "preloaded", "preloaded-writer"):
            told = tables.verdict([samples_of(LESS, **{ours: [20], "pthread": [1]})])
            self.assertEqual(
                told, f"Where Readmost is behind:\n  time, median: {ours} is behind pthread (0.05).\n")
            told = tables.verdict([samples_of(LESS, **{ours: [1], "pthread": [20]})])
            self.assertEqual(told, "Readmost is nowhere behind.\n")

    def test_without_a_comparison_there_is_none(self):
        for names in (["pthread", "ba"], ["prwlock"], ["prwlock", "preloaded", "ideal"]):
            told = tables.verdict([samples_of(MORE, **{name: [1] for name in names})])
            self.assertEqual(told, "Nothing of Readmost's was compared with anything else.\n")


class Sums(unittest.TestCase):
    def test_the_median_stands_with_the_lowest_and_the_highest(self):
        spread = samples_of(MORE, a=[3, 1, 9]).spread(MORE, "a")
        self.assertEqual((spread.median, spread.lowest, spread.highest), (3, 1, 9))

    def test_more_is_better(self):
        found = samples_of(MORE, a=[20, 20], b=[10, 5])
        self.assertEqual(found.times_as_good(MORE, "a", "b").median, 3)

    def test_less_is_better(self):
        found = samples_of(LESS, a=[10], b=[20])
        self.assertEqual(found.times_as_good(LESS, "a", "b").median, 2)

    def test_ratios_are_of_the_same_turn(self):
        # The machine was ten times slower in the second turn, for both.
        spread = samples_of(MORE, a=[200, 20, 200], b=[100, 10, 100]).times_as_good(MORE, "a", "b")
        self.assertEqual((spread.lowest, spread.median, spread.highest), (2, 2, 2))

    def test_a_turn_that_one_missed_is_left_out(self):
        found = samples_of(MORE, a=[30, 20], b=[None, 10])
        self.assertEqual(found.times_as_good(MORE, "a", "b").median, 2)
        self.assertEqual(list(found.as_rows())[1]["values"], [None, 10])

    def test_who_did_nothing_is_infinitely_worse(self):
        found = samples_of(MORE, a=[1], b=[0])
        self.assertEqual(found.times_as_good(MORE, "a", "b").median, math.inf)
        self.assertEqual(found.times_as_good(MORE, "b", "a").median, 0)

    def test_there_is_no_ratio_of_nothing(self):
        self.assertIsNone(samples_of(MORE, a=[0], b=[0]).times_as_good(MORE, "a", "b"))
        self.assertIsNone(samples_of(MORE, a=[1]).times_as_good(MORE, "a", "b"))

    def test_rows_survive_the_file(self):
        found = samples_of(MORE, a=[1.5, None, 2])
        self.assertEqual(list(Samples(found.as_rows()).as_rows()), list(found.as_rows()))

    def test_numbers_are_short(self):
        self.assertEqual(
            [text(n) for n in (0, 0.01234, 12.34, 123.4, 999.7, 12345, 1234567, 999.7e6, 2.5e9)],
            ["0", "0.0123", "12.3", "123", "1,000", "12,345", "1.23 M", "1 G", "2.5 G"],
        )


class Summary(unittest.TestCase):
    def lines(self, times):
        return summary.lines(synthetic.results(synthetic.ours_ahead(times)))

    def test_who_is_ahead_everywhere_has_won_everywhere(self):
        for line in self.lines(1.2):
            counts = [line.count(outcome) for outcome in ("won", "even", "lost")]
            self.assertEqual(counts, [len(line.points), 0, 0], line.figure.id)

    def test_up_to_five_percent_is_even(self):
        for times in (1.04, 0.96):
            for line in self.lines(times):
                self.assertEqual(line.count("even"), len(line.points), line.figure.id)

    def test_who_is_behind_has_lost_and_is_listed(self):
        lines = self.lines(0.8)
        self.assertEqual(len(summary.losses(lines)), sum(len(line.points) for line in lines))
        self.assertAlmostEqual(lines[0].worst.times.median, 0.8)

    def test_the_replaced_contender_is_compared_even_if_another_is_better(self):
        replaced = [line for line in self.lines(0.8) if line.replaced]
        self.assertTrue(replaced)
        for line in replaced:
            rivals = {point.rival for point in line.replaced}
            self.assertEqual(rivals, {contenders.REPLACED[line.ours]})
            worst, of_all = line.worst_of_replaced.times.median, line.worst.times.median
            self.assertGreaterEqual(worst, of_all, line.figure.id)

    def test_the_best_rival_counts(self):
        found = samples_of(MORE, prwlock=[10], ba=[5], rmlock=[8], pthread=[1])
        self.assertEqual(summary.best_rival(found, MORE, ["ba", "rmlock", "pthread"]), "rmlock")
        found = samples_of(LESS, prwlock=[10], ba=[5], rmlock=[8])
        self.assertEqual(summary.best_rival(found, LESS, ["ba", "rmlock"]), "ba")

    def test_ours_are_no_rivals_of_ours_and_rcu_is_none_of_locks(self):
        for name in (
            "prwlock", "readmost::shared_mutex", "bravo-consensus", "bravo-prwlock", "liburcu-memb",
            "ideal", "hazard-fenced", "global-lock",
        ):
            self.assertFalse(contenders.rivals_of_lock(name), name)
        for name in ("pthread", "bravo-pthread", "ba", "absl::Mutex", "tbb::spin_rw_mutex"):
            self.assertTrue(contenders.rivals_of_lock(name), name)

    def test_contenders_that_are_drawn_alike_are_not_in_one_plot(self):
        for figure in figures.MEASURED:
            for panel in figure.panels:
                rows = synthetic.rows(figure.benchmark_of(panel), synthetic.ours_ahead(1))
                samples = Samples(rows)
                if panel.kind == "lines":
                    looks = [contenders.style(name) for name in panel.chosen_contenders(samples)]
                    self.assertEqual(len(set(looks)), len(looks), f"{figure.id}: {panel.table}")


class Declarations(unittest.TestCase):
    def test_every_figure_names_a_benchmark_and_every_benchmark_has_a_figure(self):
        named = {name for figure in figures.MEASURED for name in figure.benchmarks}
        self.assertEqual(named, {one.name for one in benchmarks.DECLARED})
        self.assertEqual(named, set(synthetic.SHAPES))

    def test_ids_are_unique_and_every_figure_makes_a_claim(self):
        ids = [figure.id for figure in figures.ALL]
        self.assertEqual(len(set(ids)), len(ids))
        for figure in figures.ALL:
            self.assertTrue(figure.claim.endswith("."), figure.id)
            self.assertTrue(figure.elsewhere or (figure.judge and figure.panels), figure.id)

    def test_everything_fits_the_time_that_is_promised(self):
        for quick, minutes in ((False, 40), (True, 4)):
            asked = benchmarks.Asked(quick=quick)
            seconds = sum(
                one.turn_seconds(asked) * one.turns_for(asked) * (len(one.contenders) or one.all)
                for one in benchmarks.DECLARED
            )
            self.assertLess(seconds, 60 * minutes)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The part of the report on simulated machines: what the papers print, the verdicts, the page."""

import html
import re
import unittest

import browser
import synthetic
from evaluation import contenders, figures, plots, report, results, simulated
from evaluation.benchmarks import Asked
from evaluation.figures.figure import Axis
from evaluation.programs import Broken
from evaluation.samples import Samples, Spread
from evaluation.simulated import judging, markdown, published, running
from evaluation.simulated import page as page_of_simulations
from evaluation.simulated.figure import CALLED, Panel

MEASURED = synthetic.results(synthetic.at_random(1, 0.3))
WHOLE = synthetic.with_simulated(MEASURED)
PAGE = report.html(WHOLE)
EXPECTED = {figure.id: len(figure.panels) for figure in figures.MEASURED} | {
    figure.name: len(figure.panels) for figure in simulated.ALL if not figure.why
}


def of(name):
    (figure,) = [one for one in simulated.ALL if one.id == name]
    return figure


def article(page, name):
    return re.search(rf'<article class="figure simulated" id="simulated-{name}".*?</article>', page, flags=re.S)[0]


def samples(better="more", **values):
    """One row, 'T' at 8, with the values of each contender."""
    return Samples([
        {"contender": name.replace("_", "-"), "table": "T", "name": "8", "x": 8, "unit": "u", "better": better,
         "values": list(its)}
        for name, its in values.items()
    ])


def printed(*claims, **numbers):
    return {
        "source": "Table 1", "claims": [{"words": "w", "table": "T", "at": [8], **one} for one in claims],
        "numbers": [{"table": "T", "contender": name, "x": 8, "value": value} for name, value in numbers.items()],
    }


def judged(found, *claims, **numbers):
    return judging.judged(found, printed(*claims, **numbers))


class Published(unittest.TestCase):
    def test_is_of_figures_that_there_are(self):
        self.assertLessEqual(set(published.everything()), {figure.id for figure in simulated.ALL})
        for name, one in published.everything().items():
            self.assertRegex(one["source"], "Figure|Table", name)

    def test_can_be_compared_with_what_is_simulated(self):
        for figure in simulated.ALL:
            one = published.of(figure)
            if figure.why:
                continue
            found = Samples(synthetic.simulate(figure, synthetic.Simulator())["rows"])
            for number in one["numbers"]:
                row = found.row(number["table"], number["x"])
                self.assertIsNotNone(row, (figure.id, number))
                self.assertIn(number["contender"], found.contenders([row]), (figure.id, number))
            for claim in one["claims"]:
                there = found.contenders(found.rows(claim["table"]))
                for name in claim["contenders"]:
                    self.assertIn(name, there, (figure.id, claim))
                if not figure.contours:
                    for x in claim["at"]:
                        self.assertIsNotNone(found.row(claim["table"], x), (figure.id, claim))

    def test_has_the_numbers_of_table_3(self):
        numbers = {(one["table"], one["contender"], one["x"]): one["value"]
                   for one in published.of(of("fcp-table3"))["numbers"]}
        self.assertEqual(len(numbers), 16)
        self.assertEqual(numbers["A reader", "pthread", 64], 20_730)
        self.assertEqual(numbers["A writer", "prwlock", 64], 23_236)

    def test_stands_beside_benchmarks_that_there_are(self):
        for figure in simulated.ALL:
            for panel in figure.panels:
                for measured in panel.measured:
                    tables = {row["table"] for row in MEASURED["benchmarks"][measured.benchmark]["rows"]}
                    self.assertIn(measured.table, tables, figure.id)


class Judging(unittest.TestCase):
    def test_an_order_holds_only_if_all_seeds_agree(self):
        claim = {"kind": "ahead", "contenders": ["a", "b"]}
        for b, kind, mark in (
            ([5, 6, 7], judging.AGREES, "yes"), ([12, 13, 14], judging.DISAGREES, "no"),
            ([9, 9, 11], judging.DISAGREES, "unknown"),
        ):
            verdict = judged(samples(a=[10, 10, 11], b=b), claim)
            self.assertEqual((verdict.kind, verdict.orders[0].check.mark), (kind, mark), b)
        self.assertIn("1 open", verdict.line)

    def test_less_is_better_for_times(self):
        claim = {"kind": "ahead", "contenders": ["a", "b"], "times": 2}
        self.assertEqual(judged(samples("less", a=[10], b=[30]), claim).kind, judging.AGREES)
        self.assertEqual(judged(samples("less", a=[10], b=[15]), claim).kind, judging.DISAGREES)

    def test_who_did_nothing_is_behind(self):
        claim = {"kind": "ahead", "contenders": ["a", "b"]}
        self.assertEqual(judged(samples("less", a=[10], b=[None]), claim).kind, judging.AGREES)
        self.assertEqual(judged(samples("less", a=[None], b=[10]), claim).kind, judging.DISAGREES)

    def test_the_order_of_printed_numbers_and_their_factors(self):
        found = samples("less", a=[10], b=[300], c=[70])
        verdict = judged(found, a=12, b=60, c=110)
        self.assertEqual(verdict.kind, judging.IN_PART)
        self.assertEqual([one.is_near for one in verdict.numbers], [True, False, True])
        self.assertEqual(
            verdict.line,
            "Order: 2 of 3 pairs as in the paper. Figures: 2 of 3 within a factor of 2, 1.57 in the median;"
            " at worst b at 8, 5.00 times larger.",
        )
        self.assertIn("but c is before b", verdict.orders[0].check.told)

    def test_exactly_twice_is_within_two(self):
        for value in (50, 200):
            self.assertTrue(judged(samples("less", a=[value]), a=100).numbers[0].is_near)
        self.assertFalse(judged(samples("less", a=[201]), a=100).numbers[0].is_near)

    def test_a_printed_number_of_which_nothing_was_done_is_told(self):
        verdict = judged(samples("less", a=[None]), a=100)
        self.assertEqual(verdict.kind, judging.DISAGREES)
        self.assertIn("none in the simulated time", verdict.line)

    def test_curves(self):
        rows = []
        for x, value in ((1, 10), (2, 20), (8, 22)):
            rows += [{"contender": "a", "table": "T", "name": f"{x}", "x": x, "unit": "u", "better": "more",
                      "values": [value, value + 1]}]
        found = Samples(rows)
        for kind, at, times, passed in (
            ("grows", [1, 2], 1.5, True), ("grows", [2, 8], 1.5, False), ("flat", [2, 8], 1.3, True),
            ("flat", [1, 8], 1.3, False), ("falls", [1, 8], 1, False), ("peaks", [2], 0.8, True),
            ("peaks", [1], 0.8, False), ("below", [2], 30, True), ("below", [2], 15, False),
            ("above", [2], 15, True), ("above", [2], 30, False),
        ):
            claim = {"kind": kind, "contenders": ["a"], "at": at, "times": times}
            made = judging.judged(found, printed(claim)).orders[0].check
            self.assertEqual(made.passed, passed, (kind, at, made.told))

    def test_nothing_printed_and_nothing_simulated(self):
        self.assertEqual(judged(samples(a=[1])).kind, judging.NOTHING_PRINTED)
        self.assertEqual(judging.judged(None, printed()).kind, judging.NOT_SIMULATED)


class Running(unittest.TestCase):
    def test_each_seed_is_a_value(self):
        simulator = synthetic.Simulator(lambda lock, threads, seed: 100.0 * threads + seed)
        made = synthetic.simulate(of("bravo-2"), simulator)
        found = Samples(made["rows"])
        row = found.row("Alternator", 8)
        self.assertEqual(found.values(row, "prwlock"), [2 * (800 + seed) * 1e6 for seed in (1, 2, 3)])
        self.assertEqual({call[call.index("--seed") + 1] for call in simulator.calls}, {"1", "2", "3"})
        results.check({**MEASURED, "simulated": {"bravo-2": made}})

    def test_locks_have_the_names_of_the_benchmarks(self):
        made = synthetic.simulate(of("bravo-3"), synthetic.Simulator())
        named = {row["contender"] for row in made["rows"]}
        self.assertLessEqual(set(CALLED.values()), named)
        self.assertFalse(named & set(CALLED))

    def test_the_ideal_is_one_thread_times_their_number(self):
        found = Samples(synthetic.simulate(of("rcu-2"), synthetic.Simulator())["rows"])
        rates = [found.median(found.row("Searches, 32 buckets", x), "ideal") for x in (1, 2, 4)]
        self.assertEqual([rate / rates[0] for rate in rates], [1, 2, 4])

    def test_shares_are_relative_to_the_same_seed(self):
        speed = {"readmost": 400.0, "glibc-like": 100.0, "bravo-glibc": 50.0}
        simulator = synthetic.Simulator(lambda lock, threads, seed: speed[lock] * seed)
        found = Samples(synthetic.simulate(of("fcp-23"), simulator)["rows"])
        row = found.row("Operations, relative to pthread", 64)
        self.assertEqual(found.values(row, "prwlock"), [4, 4, 4])
        self.assertEqual(found.values(row, "bravo-pthread"), [0.5, 0.5, 0.5])

    def test_quick_takes_the_ends_once(self):
        simulator = synthetic.Simulator()
        synthetic.simulate(of("bravo-4a"), simulator, Asked(quick=True))
        (call,) = simulator.calls
        self.assertIn("1,72", call)
        self.assertIn("--reads-in", call)

    def test_a_program_that_fails_is_kept_as_a_failure(self):
        class Failing:
            def output(self, *words):
                raise Broken("ended with status 1: no machine")

        made = synthetic.simulate(of("bravo-2"), Failing())
        self.assertEqual([one["reason"] for one in made["failures"]], ["ended with status 1: no machine"])
        page = report.html({**MEASURED, "simulated": {"bravo-2": made}})
        self.assertIn("It failed: ended with status 1: no machine", page)

    def test_all_of_it_takes_minutes(self):
        self.assertLess(sum(running.seconds(figure, Asked()) for figure in simulated.ALL), 900)


class Plots(unittest.TestCase):
    def test_points_may_share_a_place(self):
        panel = Panel("Time until a store is seen", Axis("ns"), Axis("share of the reads"), points=None)
        seen = [(100, Spread.of([440])), (53, Spread.of([44])), (100, Spread.of([330]))]
        drawn = plots.kinds_svg(panel, [("memory", "measured here", seen)])
        self.assertIn('data-series="memory"', drawn)


class Page(unittest.TestCase):
    def test_is_whole_on_a_screen_and_on_a_phone(self):
        for width in (1200, 390):
            self.assertEqual(browser.faults(PAGE, width, EXPECTED), [])

    def test_tells_three_kinds_apart(self):
        shown = article(PAGE, "fcp-table3")
        kinds = (contenders.SIMULATED, contenders.MEASURED, contenders.PRINTED)
        for kind in kinds:
            self.assertIn(f'data-kind="{kind}"', shown)
            self.assertIn(f"</svg>{kind}</li>", shown)
        classes = [re.search(rf'class="(k\d+)" data-series="pthread" [^>]*data-kind="{kind}"', shown)[1]
                   for kind in kinds]
        self.assertEqual(len(set(classes)), 3)
        styles = [re.search(rf"path\.{name}{{(.*?)}}", PAGE)[1].split(";marker")[0] for name in classes]
        self.assertEqual(len(set(styles)), 3)  # not by marker alone

    def test_says_in_one_line_what_it_found(self):
        for figure in simulated.ALL:
            if not figure.why:
                self.assertRegex(article(PAGE, figure.id), r'<p class="verdict"><span.*?</span> (Order|Figures|The paper)')

    def test_has_every_printed_number_in_one_table(self):
        table = re.search(r'<table class="rows validation">.*?</table>', PAGE, flags=re.S)[0]
        for value in ("20,730", "3,235,736", "622,341", "89,403", "23,236", "30,000", "7.37"):
            self.assertIn(f'data-label="Paper">{value}<', table)

    def test_figures_without_data_are_one_line_with_the_reasons_behind_it(self):
        part = {**WHOLE, "simulated": {"bravo-2": WHOLE["simulated"]["bravo-2"]}}
        page = report.html(part)
        self.assertEqual(page.count('class="figure simulated"'), 1)
        (lines,) = re.findall(r'<details class="line" id="not-simulated">.*?</details>', page, flags=re.S)
        of = len(simulated.ALL)
        self.assertIn(f"<summary>Not simulated: {of - 1} of {of} figures.</summary>", lines)
        reasons = re.findall(r"<li>(.*?)</li>", html.unescape(lines))
        for figure, reason in zip((one for one in simulated.ALL if one.id != "bravo-2"), reasons, strict=True):
            self.assertIn(figure.source, reason)
            self.assertIn(figure.why or f"readmost bench {figure.name}", reason)
        left = {figure.id: len(figure.panels) for figure in figures.MEASURED} | {"simulated-bravo-2": 1}
        self.assertEqual(browser.faults(page, 390, left), [])

    def test_the_verdicts_stand_in_markdown(self):
        text = markdown.text(WHOLE)
        rows = re.findall(r"(?m)^\| (.+?) \| `(.+?)` \| (.+?) \| (.+) \|$", text)
        self.assertEqual(len(rows), len(simulated.ALL))
        for (name, its_machine, kind, told), figure in zip(rows, simulated.ALL, strict=True):
            self.assertEqual((name, its_machine), (f"{figure.source}: {figure.title}", figure.machine))
            self.assertEqual(kind, page_of_simulations.verdict_of(figure, WHOLE).kind)
            self.assertGreater(len(told), 3)
        part = page_of_simulations.part(WHOLE)
        self.assertIn(f"{part.near} of {len(part.numbers)} within a factor of 2", text)
        only = {**WHOLE, "simulated": {"bravo-2": WHOLE["simulated"]["bravo-2"]}}
        self.assertEqual(markdown.text(only).count("Not there: "), sum(not one.why for one in simulated.ALL) - 1)

    def test_nothing_simulated_is_one_line(self):
        page = report.html(MEASURED)
        self.assertEqual(page.count('class="figure simulated"') + page.count("not-simulated"), 0)
        self.assertIn("Nothing was simulated: 'readmost bench simulated'", page)

    def test_is_drawn_where_nothing_was_done(self):
        still = synthetic.with_simulated(MEASURED, lambda lock, threads, seed: 0.0)
        page = report.html(still)
        self.assertIn(">none</td>", page)

    def test_two_figures_take_little_of_a_page(self):
        without = report.html(MEASURED)
        self.assertLess(len(without) - without.index('id="simulated"'), 2_000)
        two = {name: WHOLE["simulated"][name] for name in ("fcp-table3", "bravo-4f")}
        page = report.html({**MEASURED, "simulated": two})
        self.assertLess(len(page) - page.index('id="simulated"'), 40_000)


if __name__ == "__main__":
    unittest.main()

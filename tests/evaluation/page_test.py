# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser, and that this test notices a broken one."""

import html
import itertools
import re
import unittest
import unittest.mock
import warnings
import xml.etree.ElementTree as ElementTree

import browser
import printed
import synthetic
from evaluation import figures, markdown, report, summary
from evaluation.failure import Failure

PHONE, SCREEN = 390, 1200
BENCHMARKS_OF = {figure.id: figure.benchmarks for figure in figures.MEASURED}
EXPECTED = {figure.id: len(figure.panels) for figure in figures.MEASURED}
MEASURED = synthetic.results(synthetic.at_random(1, 0.3))
NOTHING = {**MEASURED, "benchmarks": {}}
PAGE = report.html(MEASURED)
MOST_PAGES = 14


def only(benchmarks):
    return {**MEASURED, "benchmarks": {name: MEASURED["benchmarks"][name] for name in benchmarks}}


# A page of a few figures, which a browser loads sooner.
TWO = ("kyoto_cabinet", "alternator")
FEW = {
    figure.id: len(figure.panels) for figure in figures.MEASURED if set(figure.benchmarks) <= set(TWO)
}
SMALL = report.html(only(TWO))


class Page(unittest.TestCase):
    def test_is_whole_on_a_screen(self):
        self.assertEqual(browser.faults(PAGE, SCREEN, EXPECTED), [])

    def test_is_whole_on_a_phone(self):
        self.assertEqual(browser.faults(PAGE, PHONE, EXPECTED), [])

    def test_says_what_was_not_measured(self):
        page = report.html(NOTHING)
        self.assertEqual(browser.faults(page, PHONE, {}), [])
        self.assertNotIn("<article", page)
        (line,) = re.findall(r'<details class="line" id="not-measured">.*?</details>', page, flags=re.S)
        of = len(figures.MEASURED)
        self.assertIn(f"<summary>Not measured: {of} of {of} figures; ", line)
        for figure in figures.MEASURED:
            self.assertRegex(line, rf"[ >]{re.escape(figure.id)}[,<]")

    def test_says_in_one_line_what_cannot_be_tested_here(self):
        (line,) = re.findall(r'<details class="line" id="elsewhere">.*?</details>', PAGE, flags=re.S)
        told, reasons = html.unescape(line).split("</summary>")
        gone = [figure for figure in figures.ALL if figure.elsewhere]
        self.assertTrue(told.endswith(f"Cannot be tested here: {', '.join(one.source for one in gone)}."))
        for figure in gone:
            self.assertIn(figure.elsewhere, reasons)

    def test_of_two_figures_is_small(self):
        empty = len(report.html(NOTHING))
        self.assertLess(empty, 13_000)
        alone = {
            figure.id: len(report.html(only(figure.benchmarks), (figure,))) - empty
            for figure in figures.MEASURED
        }
        pairs = list(itertools.combinations(alone, 2))
        pairs.sort(key=lambda pair: -sum(alone[name] for name in pair))
        self.assertLess(empty + sum(map(alone.get, pairs[len(pairs) // 2])), 45_000)
        self.assertLess(empty + sum(map(alone.get, pairs[0])), 60_000, f"{' and '.join(pairs[0])} are the largest")
        # As one gets them, with what was not measured, of the largest pairs that can be had alone.
        largest = []
        for pair in pairs:
            page = report.html(only({name for one in pair for name in BENCHMARKS_OF[one]}))
            if page.count("<article") == 2:
                largest.append(pair)
                self.assertLess(len(page.encode()), 60_000, " and ".join(pair))
            if len(largest) == 3:
                break
        # A line too many in what all pages share would stay below these: all of it, then.
        self.assertLess(len(PAGE), 650_000)

    def test_begins_with_the_result(self):
        places = [PAGE.index(f'id="{name}"') for name in ("result", "contents", "not-measured")
                  if f'id="{name}"' in PAGE]
        self.assertEqual(places, sorted(places))
        self.assertLess(places[-1], PAGE.index("<article"))
        self.assertLess(PAGE.index("Programs, with Readmost preloaded"), PAGE.index('id="contents"'))

    def test_the_cells_of_every_row_have_the_label_of_their_column(self):
        tables = re.findall(r'<table class="rows.*?</table>', PAGE, flags=re.S)
        self.assertEqual(len(tables), 2)
        for table in tables:
            head, body = table.split("<tbody>")
            heads = re.findall(r"<th.*?>(.*?)</th>", head)[2:]
            for row in re.findall(r"<tr>.*?</tr>", body, flags=re.S):
                cells = [cell for cell in re.findall(r"<td.*?</td>", row, flags=re.S) if 'class="reach"' not in cell]
                labels = [(re.findall('data-label="(.*?)"', cell) or [None])[0] for cell in cells]
                for cell, label, head in zip(cells, labels, heads, strict=True):
                    self.assertEqual(label, None if cell == "<td></td>" else head, row)

    def test_lists_every_lost_point_below_its_figure(self):
        lost = summary.losses(summary.lines(MEASURED, figures.ALL))
        self.assertTrue(lost)
        (listed,) = re.findall(r'<details id="losses">.*?</details>', PAGE, flags=re.S)
        self.assertIn(f"All {len(lost)} lost points", listed)
        parts = listed.split('<p class="how">')[1:]
        of_figure = {re.search('href="#(.*?)"', part)[1]: part for part in parts}
        self.assertEqual(len(of_figure), len(parts))
        for name, part in of_figure.items():
            own = [f"{point.times.median:.2f}" for point in lost if point.figure.id == name]
            told = re.findall("<b>(.*?)</b>", part)
            self.assertEqual(sorted(told), sorted(own), name)
            self.assertEqual(told[0], own[0], "the worst is not the first")
        self.assertEqual(set(of_figure), {point.figure.id for point in lost})

    def test_needs_nothing_else(self):
        self.assertEqual(re.findall(r"""(?:src|href)=["']?(?!#|data:)[^"'> ]+""", PAGE), [])
        self.assertNotIn("@import", PAGE)
        self.assertNotRegex(PAGE, r"url\((?!#)")
        self.assertNotIn("<script", PAGE)

    def test_tells_every_verdict_with_its_numbers(self):
        self.assertEqual(PAGE.count('class="figure"'), len(figures.MEASURED))
        for kind in ("holds in part", "does not hold"):
            self.assertIn(f'data-verdict="{kind}"', PAGE)
        self.assertRegex(PAGE, r"prwlock has [0-9.]+ (\([0-9.]+ to [0-9.]+\) )?times")

    def test_the_bars_of_one_table_share_a_table(self):
        (figure,) = figures.named("own-longest-wait")
        (table,) = re.findall(r"<caption>Longest waits, us:.*?<tbody>", PAGE, flags=re.S)
        self.assertEqual(table.count("<th>"), 1 + len(figure.panels))

    def test_is_drawn_for_zero_rates_and_for_a_single_contender(self):
        still = synthetic.results(lambda better, contender: 0.0)
        alone = synthetic.results(synthetic.ours_ahead(1))
        for one in alone["benchmarks"].values():
            one["rows"] = [row for row in one["rows"] if row["contender"] == "prwlock"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for results, least in ((still, len(figures.MEASURED)), (alone, 20)):
                self.assertGreaterEqual(report.html(results).count('class="figure"'), least)

    def test_is_the_same_when_made_again(self):
        again = report.html(synthetic.results(synthetic.at_random(1, 0.3)))
        self.assertEqual(again, PAGE)


def with_kyoto_cabinet_at(times):
    """Ours is 1.2 times as fast in all programs, but for one at one place."""
    found = synthetic.results(synthetic.ours_ahead(1.2))
    for row in found["benchmarks"]["kyoto_cabinet"]["rows"]:
        if (row["contender"], row["table"], row["name"]) == ("prwlock", "Kyoto Cabinet CacheDB, lookups", "8"):
            row["values"] = [100.0 * times] * 3
    return found


class GainsAndLosses(unittest.TestCase):
    def test_of_a_program_are_one_row(self):
        found = summary.programs(MEASURED)
        names = [one.name for one in found]
        self.assertEqual(len(set(names)), len(names))
        for name in ("Kyoto Cabinet CacheDB, lookups", "RE2, one object in all threads",
                     "RocksDB readwhilewriting", "Python, OpenSSL digests, one thread"):
            self.assertIn(name, names)
        worst = [one.worst.times.median for one in found]
        self.assertEqual(worst, sorted(worst))
        for text, row in ((html.unescape(PAGE), "<tr><th><a href=[^>]*>{}</a>.*?</tr>"),
                          (markdown.text(MEASURED), r"(?m)^\| {} \|.*$")):
            for one in found:
                (told,) = re.findall(row.format(re.escape(one.name)), text, flags=re.S if "<" in row else 0)
                for point in (one.worst, one.best):
                    self.assertIn(f"{point.times.median:.2f}", told)
                    self.assertEqual(point.rival, "pthread")

    def test_no_program_is_slower_only_if_none_of_any_figure_is(self):
        (claim,) = figures.named("own-programs")
        for times, kind, told in (
            (1.2, "holds", "No program is slower at any point."),
            (0.96, "holds", "No program is slower at any point."),
            (0.66, "holds in part", "Slower somewhere: Kyoto Cabinet CacheDB, lookups with 0.66 "),
        ):
            results = with_kyoto_cabinet_at(times)
            verdict = report.verdict_of(claim, results)
            self.assertEqual(verdict.kind, kind, times)
            for text in (report.html(results), markdown.text(results)):
                self.assertIn(told, html.unescape(text))
                self.assertEqual("No program is slower" in text, kind == "holds")
        lost = [check.told for check in verdict.checks if not check.passed]
        self.assertEqual(len(lost), 1)
        self.assertRegex(lost[0], "^Kyoto Cabinet CacheDB, lookups: prwlock has 0.66 .* at 8, the worst place")

    def test_the_claim_stays_open_if_a_program_was_not_measured(self):
        (claim,) = figures.named("own-programs")
        results = with_kyoto_cabinet_at(1.2)
        del results["benchmarks"]["rocksdb_readwhilewriting"]
        verdict = report.verdict_of(claim, results)
        self.assertEqual(verdict.kind, "holds in part")
        self.assertIn("rocksdb_readwhilewriting was not measured", [check.told for check in verdict.checks])

    def test_many_slower_programs_are_counted(self):
        told = summary.of_programs(summary.programs(synthetic.results(synthetic.ours_ahead(0.5))))
        self.assertRegex(told, r"slower at [0-9]+\. Slower somewhere: .*; .*; .*; and [0-9]+ more\.$")


class Print(unittest.TestCase):
    def test_is_short_and_has_no_heading_alone(self):
        whole = report.html(synthetic.with_simulated(MEASURED))
        pages = printed.pages(whole)
        self.assertLessEqual(len(pages), MOST_PAGES)
        self.assertEqual(printed.orphans(whole, pages), [])

    def test_of_two_figures_is_two_pages(self):
        pages = printed.pages(SMALL)
        self.assertLessEqual(len(pages), 2)
        self.assertEqual(printed.orphans(SMALL, pages), [])

    def with_rule(self, rule):
        broken = SMALL.replace("</style>", f"@media print {{ {rule} }}</style>", 1)
        return printed.orphans(SMALL, printed.pages(broken))

    def test_headings_that_stand_alone_are_noticed(self):
        told = self.with_rule("h2 { break-after: column }")
        self.assertIn("the last in its column: BRAVOFigure2Alternator", told)

    def test_headings_that_are_not_printed_are_noticed(self):
        self.assertIn("not printed: BRAVOFigure2Alternator", self.with_rule("h2 { display: none }"))


class MainResult(unittest.TestCase):
    def test_is_small_and_has_both_locks(self):
        svg = report.main_result_svg(synthetic.results(synthetic.at_random(1, 0.3)))
        ElementTree.fromstring(svg)
        self.assertLess(len(svg), 60_000)
        for name in ("glibc", "Readmost, preloaded", "Imaginary 9000", "Reads only"):
            self.assertIn(name, svg)

    def test_that_was_not_measured_is_told(self):
        with self.assertRaisesRegex(Failure, "readmost bench real_programs"):
            report.main_result_svg(NOTHING)


class Browser(unittest.TestCase):
    def test_that_is_missing_is_told_with_a_remedy(self):
        with unittest.mock.patch.dict("os.environ", {"PATH": "/none", "READMOST_CHROMIUM": ""}):
            with self.assertRaisesRegex(AssertionError, "no chromium; install it .*scripts/setup"):
                browser.faults(SMALL, SCREEN, FEW)


class BrokenPage(unittest.TestCase):
    def noticed(self, page, words, width=PHONE):
        self.assertNotEqual(page, SMALL)
        told = browser.faults(page, width, FEW)
        self.assertTrue(any(re.search(words, one) for one in told), told)

    def test_a_missing_figure(self):
        self.noticed(
            re.sub(r'<article class="figure" id="bravo-2".*?</article>', "", SMALL, flags=re.S),
            "bravo-2 is missing",
        )

    def test_a_missing_plot(self):
        self.noticed(
            re.sub(r'(id="bravo-2".*?)<figure>.*?</figure>', r"\1", SMALL, count=1, flags=re.S),
            "bravo-2 has 0 plots and not 1",
        )

    def test_an_empty_plot(self):
        self.noticed(re.sub(r'<(path|rect) class="k\d+', r'<\1 class="', SMALL), "shows nothing")

    def test_an_error_on_the_console(self):
        page = SMALL.replace("</body>", "<script>console.error('no')</script></body>")
        self.noticed(page, "console: .*no")

    def test_something_fetched(self):
        page = SMALL.replace("</body>", "<img src='http://127.0.0.1:1/none.png'></body>")
        self.noticed(page, "^fetched: http")

    def test_something_too_wide(self):
        page = SMALL.replace("</main>", "<p style='width:900px'>wide</p></main>")
        self.noticed(page, "page is [0-9]+ wide")

    def test_a_plot_that_is_too_small(self):
        rule = ".plots svg{display:block;width:"
        self.noticed(SMALL.replace(f"{rule}100%;", f"{rule}20px;"), "plot of .* is 20 by")

    def test_a_ratio_without_its_label(self):
        self.noticed(SMALL.replace(' data-label="At worst"', "", 1), "lost its label: [0-9]+[.][0-9]+")
        self.noticed(SMALL.replace("attr(data-label)", '""'), "lost its label")

    def test_contents_before_the_result(self):
        result, contents = (
            re.search(rf"<{tag} id=.*?</{tag}>", SMALL, flags=re.S)[0] for tag in ("section", "nav")
        )
        self.noticed(SMALL.replace(contents, "").replace(result, contents + result), "the result is at")

    def test_a_link_that_leads_nowhere(self):
        self.noticed(SMALL.replace('href="#contents"', 'href="#content"', 1), "nowhere: #content")


if __name__ == "__main__":
    unittest.main()

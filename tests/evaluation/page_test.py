"""The report in a real browser, and that this test notices a broken one."""

import re
import unittest
import unittest.mock
import warnings
import xml.etree.ElementTree as ElementTree

import browser
import synthetic
from evaluation import figures, report
from evaluation.failure import Failure

PHONE, SCREEN = 390, 1200
EXPECTED = {figure.id: len(figure.panels) for figure in figures.ALL}
PAGE = report.html(synthetic.results(synthetic.at_random(1, 0.3)))


class Page(unittest.TestCase):
    def test_is_whole_on_a_screen(self):
        self.assertEqual(browser.faults(PAGE, SCREEN, EXPECTED), [])

    def test_is_whole_on_a_phone(self):
        self.assertEqual(browser.faults(PAGE, PHONE, EXPECTED), [])

    def test_says_what_was_not_measured(self):
        nothing = {**synthetic.results(synthetic.ours_ahead(1)), "benchmarks": {}}
        page = report.html(nothing)
        self.assertEqual(browser.faults(page, PHONE, dict.fromkeys(EXPECTED, 0)), [])
        self.assertEqual(page.count('data-verdict="not measured"'), len(figures.MEASURED))

    def test_needs_nothing_else(self):
        self.assertEqual(re.findall(r"""(?:src|href)=["']?(?!#|data:)[^"'> ]+""", PAGE), [])
        self.assertNotIn("@import", PAGE)
        self.assertNotRegex(PAGE, r"url\((?!#)")
        self.assertNotIn("<script", PAGE)

    def test_tells_every_verdict_with_its_numbers(self):
        self.assertEqual(PAGE.count('class="figure"'), len(figures.ALL))
        for kind in ("holds in part", "does not hold", "cannot be tested here"):
            self.assertIn(f'data-verdict="{kind}"', PAGE)
        self.assertRegex(PAGE, r"prwlock has [0-9.]+ (\([0-9.]+ to [0-9.]+\) )?times")

    def test_the_bars_of_one_table_share_a_table(self):
        (figure,) = figures.named("own-longest-wait")
        (table,) = re.findall(r"<caption>Longest waits, us:.*?</thead>", PAGE, flags=re.S)
        self.assertEqual(table.count('<th class="n">'), len(figure.panels))

    def test_is_drawn_for_zero_rates_and_for_a_single_contender(self):
        still = synthetic.results(lambda better, contender: 0.0)
        alone = synthetic.results(synthetic.ours_ahead(1))
        for one in alone["benchmarks"].values():
            one["rows"] = [row for row in one["rows"] if row["contender"] == "prwlock"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for results in (still, alone):
                self.assertEqual(report.html(results).count('class="figure"'), len(figures.ALL))

    def test_is_the_same_when_made_again(self):
        again = report.html(synthetic.results(synthetic.at_random(1, 0.3)))
        self.assertEqual(again, PAGE)


class MainResult(unittest.TestCase):
    def test_is_small_and_has_both_locks(self):
        svg = report.main_result_svg(synthetic.results(synthetic.at_random(1, 0.3)))
        ElementTree.fromstring(svg)
        self.assertLess(len(svg), 60_000)
        for name in ("glibc", "Readmost, preloaded", "Imaginary 9000", "Reads only"):
            self.assertIn(name, svg)

    def test_that_was_not_measured_is_told(self):
        nothing = {**synthetic.results(synthetic.ours_ahead(1)), "benchmarks": {}}
        with self.assertRaisesRegex(Failure, "readmost bench real_programs"):
            report.main_result_svg(nothing)


class Browser(unittest.TestCase):
    def test_that_is_missing_is_told_with_a_remedy(self):
        with unittest.mock.patch.dict("os.environ", {"PATH": "/none", "READMOST_CHROMIUM": ""}):
            with self.assertRaisesRegex(AssertionError, "no chromium; install it .*scripts/setup"):
                browser.faults(PAGE, SCREEN, EXPECTED)


class BrokenPage(unittest.TestCase):
    def noticed(self, page, words, width=PHONE):
        self.assertNotEqual(page, PAGE)
        told = browser.faults(page, width, EXPECTED)
        self.assertTrue(any(re.search(words, one) for one in told), told)

    def test_a_missing_figure(self):
        self.noticed(
            re.sub(r'<article class="figure" id="bravo-4a".*?</article>', "", PAGE, flags=re.S),
            "bravo-4a is missing",
        )

    def test_a_missing_plot(self):
        self.noticed(
            re.sub(r'(id="fcp-22".*?)<figure>.*?</figure>', r"\1", PAGE, count=1, flags=re.S),
            "fcp-22 has 0 plots and not 1",
        )

    def test_an_empty_plot(self):
        self.noticed(re.sub(r'data-series="[^"]*"', "", PAGE), "shows nothing")

    def test_an_error_on_the_console(self):
        page = PAGE.replace("</body>", "<script>console.error('no')</script></body>")
        self.noticed(page, "console: .*no")

    def test_something_fetched(self):
        page = PAGE.replace("</body>", "<img src='http://127.0.0.1:1/none.png'></body>")
        self.noticed(page, "^fetched: http")

    def test_something_too_wide(self):
        page = PAGE.replace("</main>", "<p style='width:900px'>wide</p></main>")
        self.noticed(page, "page is [0-9]+ wide")

    def test_a_plot_that_is_too_small(self):
        rule = ".plots svg { display: block; width: "
        self.noticed(PAGE.replace(f"{rule}100%;", f"{rule}20px;"), "plot of .* is 20 by")

    def test_a_link_that_leads_nowhere(self):
        self.noticed(PAGE.replace('href="#contents"', 'href="#content"', 1), "nowhere: #content")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Prints a page with headless Chromium, and reports headings that stand alone at the end of a column."""

import html
import re
import subprocess
import tempfile
import unicodedata
from pathlib import Path

import browser

OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-pdf-header-footer")
LINE = re.compile(
    r'<line xMin="([0-9.]+)" yMin="([0-9.]+)" xMax="([0-9.]+)" yMax="([0-9.]+)">(.*?)</line>', re.S
)
WORD = re.compile(r"<word[^>]*>(.*?)</word>", re.S)


def pages(page):
    """The lines of each printed page: (left, top, right, text)."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        words = [f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}", source.as_uri()]
        subprocess.run(
            [browser.chromium(), *OPTIONS, *words], capture_output=True, timeout=240, check=True
        )
        told = subprocess.run(
            ["pdftotext", "-bbox-layout", made, "-"], capture_output=True, text=True, check=True
        ).stdout
    return [[_line(*one) for one in LINE.findall(part)] for part in told.split("<page ")[1:]]


def _line(left, top, right, _, words):
    return float(left), float(top), float(right), plain(" ".join(WORD.findall(words)))


def plain(text):
    """Without tags, spaces and ligatures."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", html.unescape(re.sub("<[^>]*>", "", text))))


def headings(page):
    """Of the figures."""
    return [plain(one) for one in re.findall(r"<article.*?<h2>(.*?)</h2>", page, flags=re.S)]


def orphans(page, printed):
    """Headings with nothing below them, and those that are nowhere."""
    told = []
    for heading in headings(page):
        ends = [end for lines in printed for end in _ends(heading, lines)]
        if not ends:
            told.append(f"not printed: {heading}")
        elif not all(ends):
            told.append(f"the last in its column: {heading}")
    return told


def _ends(heading, lines):
    """For each place of the heading: whether something stands below it in its column."""
    for left, top, right, text in lines:
        if not text or not heading.startswith(text):
            continue
        below = sorted(
            (one for one in lines if one[1] > top and one[0] < right and one[2] > left),
            key=lambda one: one[1],
        )
        rest = heading[len(text):]
        while rest and below and rest.startswith(below[0][3]):
            rest = rest[len(below.pop(0)[3]):]
        if not rest:
            yield bool(below)

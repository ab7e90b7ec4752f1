# SPDX-License-Identifier: Apache-2.0
"""Loads a page in headless Chromium, as wide as a phone or a screen, and reports its faults."""

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

# Runs in a copy of the page and reports to the frame around it.
PROBE = """
<script>
addEventListener("load", () => {
  const size = element => { const box = element.getBoundingClientRect();
    return {width: box.width, height: box.height, left: box.left, right: box.right}; };
  const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
  const found = {
    width: innerWidth,
    scroll: document.documentElement.scrollWidth,
    articles: [...document.querySelectorAll("article.figure")].map(one => ({
      id: one.id, plots: Number(one.dataset.plots), verdict: one.dataset.verdict,
      svgs: [...one.querySelectorAll(".plots svg")].map(svg => ({...size(svg),
        series: svg.querySelectorAll("[class^=k]").length,
        words: [...svg.querySelectorAll("text")].map(text => size(text).height)})),
    })),
    twice: ids.filter((id, place) => ids.indexOf(id) !== place),
    nowhere: [...document.querySelectorAll("a[href^='#']")].map(one => one.hash.slice(1))
      .filter(id => !document.getElementById(id)),
    // Cells whose column's head is not shown, without its words before them.
    unlabelled: [...document.querySelectorAll(".rows td")].filter(cell =>
      cell.textContent.trim() && getComputedStyle(cell.closest("table").tHead).display === "none"
      && !/[a-z]/i.test(getComputedStyle(cell, "::before").content.replace("none", "")))
      .map(cell => cell.textContent.trim()),
    order: ["result", "contents"].map(id => document.getElementById(id)?.getBoundingClientRect().top),
    fetched: performance.getEntriesByType("resource").map(one => one.name),
  };
  parent.postMessage(JSON.stringify(found), "*");
});
</script>
"""

# A window of Chromium is at least 500 wide; a frame in it can be as narrow as a phone. --dump-dom
# shows the attribute.
FRAME = """<!DOCTYPE html><title>frame</title><link rel="icon" href="data:,">
<script>addEventListener("message", told => document.body.setAttribute("data-found", told.data));</script>
<body><iframe src="page.html" width="{width}" height="900" style="border: 0"></iframe></body>
"""


OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--enable-logging=stderr", "--window-size=1400,1000", "--hide-scrollbars",
    "--virtual-time-budget=5000", "--dump-dom",
)


def chromium():
    """Nothing but the tests needs it, so it is looked for when they run."""
    for name in (os.environ.get("READMOST_CHROMIUM"), "chromium", "chromium-browser"):
        found = name and shutil.which(name)
        if found:
            return found
    raise AssertionError(
        "the page cannot be looked at: there is no chromium; install it with 'apt-get install"
        " chromium' or scripts/setup, or name another in READMOST_CHROMIUM"
    )


def seen(page, width, folder):
    """(what the probe found, the lines of the console)"""
    probed = page.replace("</head>", f"{PROBE}</head>", 1)
    Path(folder, "page.html").write_text(probed, encoding="utf-8")
    path = Path(folder, "frame.html")
    path.write_text(FRAME.format(width=width), encoding="utf-8")
    done = subprocess.run(
        [chromium(), *OPTIONS, f"--user-data-dir={folder}/profile", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    if not found:
        said = f"{done.stdout[:500]}\n{done.stderr[-2000:]}"
        raise AssertionError(f"the page was not loaded:\n{said}")
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(html.unescape(found[1])), console


def faults(page, width, figures):
    """What is wrong with the page; `figures` has for each id how many plots it is to have."""
    with tempfile.TemporaryDirectory() as folder:
        found, console = seen(page, width, folder)
    told = [f"console: {line}" for line in console]
    if found["width"] != width:
        told.append(f"the window is {found['width']} wide and not {width}")
    if found["scroll"] > width:
        told.append(f"the page is {found['scroll']} wide in a window of {width}")
    told += [f"fetched: {url}" for url in found["fetched"] if not url.startswith("data:")]
    told += [f"a ratio has lost its label: {one}" for one in found["unlabelled"]]
    top, contents = found["order"]
    if top is None or contents is None or top >= contents:
        told.append(f"the result is at {top} and the contents are at {contents}")
    if top is not None and top > 400:
        told.append(f"the result begins at {top:.0f} only")
    told += [f"the id '{one}' is there twice" for one in found["twice"]]
    told += [f"a link leads nowhere: #{one}" for one in found["nowhere"]]
    articles = {one["id"]: one for one in found["articles"]}
    for name, plots in figures.items():
        there = len(articles[name]["svgs"]) if name in articles else None
        if there is None:
            told.append(f"the figure {name} is missing")
        elif there != plots:
            told.append(f"the figure {name} has {there} plots and not {plots}")
    for name, one in articles.items():
        for svg in one["svgs"]:
            if svg["width"] < 250 or svg["height"] < 100:
                told.append(f"a plot of {name} is {svg['width']:.0f} by {svg['height']:.0f}")
            if svg["right"] > width or svg["left"] < 0:
                told.append(f"a plot of {name} reaches out of the window")
            if svg["series"] == 0:
                told.append(f"a plot of {name} shows nothing")
            if svg["words"] and min(svg["words"]) < 8:
                told.append(f"the words in a plot of {name} are {min(svg['words']):.0f} high")
    return told

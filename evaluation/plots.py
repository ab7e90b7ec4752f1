"""Plots as SVG for a page: text stays text, colours are the page's, so that it looks right in light
and dark and on paper."""

import io
import re
import xml.etree.ElementTree as ElementTree

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot, ticker

from .contenders import canonical, is_ours, label, style
from .samples import text

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)

INCHES = (4.6, 3.2)  # at 72 to the inch: a phone's width, where the text is as large as the page's
FONT = 10.5
# Stand for the page's colours while matplotlib draws; nothing else is drawn in them.
COLOURS = {
    name: f"#0102{number:02x}"
    for number, name in enumerate(
        ("ours", "violet", "sky", "ink", "grey", "orange", "green", "purple", "brown", "faint"),
        start=16,
    )
}

SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "readmost",
    "font.family": "DejaVu Sans",
    "font.size": FONT,
    "axes.edgecolor": COLOURS["grey"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": COLOURS["ink"],
    "ytick.color": COLOURS["ink"],
    "text.color": COLOURS["ink"],
    "grid.color": COLOURS["faint"],
    "grid.linewidth": 0.8,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "figure.constrained_layout.use": True,
}
TICKS = ticker.FuncFormatter(lambda value, _: short(value))


def panel_svg(panel, samples, name):
    """The plot of a panel; `name` makes the ids in it unlike those of other plots of the page."""
    draw = _bars if panel.kind == "bars" else _lines
    with matplotlib.rc_context(SETTINGS):
        drawn = _saved(draw(panel, samples))
    return for_page(drawn, name, panel.title or panel.table)


def swatch_svg(contender, name):
    """A contender's line for a legend."""
    with matplotlib.rc_context({**SETTINGS, "figure.constrained_layout.use": False}):
        figure = pyplot.figure(figsize=(0.5, 0.2))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.axis("off")
        axes.plot([0, 1], [0, 0], **_line_style(contender), markevery=[])
        axes.plot([0.5], [0], **_line_style(contender))
        axes.set(xlim=(0, 1), ylim=(-1, 1))
        drawn = _saved(figure)
    return for_page(drawn, name, "")


def _saved(figure):
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return drawn.getvalue()


def _line_style(contender):
    look = style(contender)
    colour = COLOURS[look.colour]
    return {
        "color": colour,
        "linestyle": look.dash,
        "marker": look.marker or None,
        "linewidth": 2.6 if look.thick else 1.3,
        "markersize": 6.5 if look.thick else 5.0,
        "markerfacecolor": colour if look.filled else "none",
        "zorder": 4 if look.thick else 3,
    }


def _in_order(contenders):
    """Ours last, so that they are drawn above the others."""
    return sorted(contenders, key=lambda name: (style(name).thick, is_ours(name)))


def _lines(panel, samples):
    figure, axes = pyplot.subplots(figsize=INCHES)
    rows = [row for row in panel.chosen_rows(samples) if panel.x_of(row) is not None]
    places = sorted({panel.x_of(row) for row in rows})
    floor = _place_of_zero(places) if panel.x.log else None
    for contender in _in_order(panel.chosen_contenders(samples)):
        points = {
            panel.x_of(row) or floor or 0: spread
            for row in rows
            if (spread := samples.spread(row, contender))
        }
        if not points:
            continue
        x = sorted(points)
        median = [points[place].median for place in x]
        lowest = [points[place].lowest for place in x]
        highest = [points[place].highest for place in x]
        look = _line_style(contender)
        axes.plot(x, median, **look, gid=f"series-{canonical(contender)}")
        if lowest != highest:
            axes.fill_between(
                x, lowest, highest, color=look["color"], alpha=0.13, linewidth=0, zorder=2
            )
    axes.grid(True, which="major")
    if panel.x.log:
        axes.set_xscale("log")
    _show_places(axes, places, floor)
    _scale(axes, "y", panel.y.log and _spans_decades(axes.dataLim.y1, axes.dataLim.minposy))
    axes.set_xlabel(panel.x.title)
    axes.set_ylabel(panel.y.title)
    return figure


def _place_of_zero(places):
    """Where 0 stands on a logarithmic axis: left of the least."""
    above = [place for place in places if place > 0]
    if 0 not in places or not above:
        return None
    return above[0] / (above[1] / above[0] if len(above) > 1 else 10)


def _show_places(axes, places, floor):
    """A tick at each place that was measured, unless there are too many."""
    if len(places) <= 10:
        axes.set_xticks([place or floor or 0 for place in places], map(short, places))
        axes.minorticks_off()
    elif axes.get_xscale() == "log":
        axes.xaxis.set_major_formatter(TICKS)


def _spans_decades(highest, least_above_zero):
    """Less than one has no two ticks on a logarithmic axis."""
    return highest >= 10 * least_above_zero


def _scale(axes, which, log):
    """Of the axis of values."""
    axes.set(**({f"{which}scale": "log"} if log else {f"{which}lim": (0, None)}))
    axis = {"x": axes.xaxis, "y": axes.yaxis}[which]
    axis.set_major_formatter(TICKS)
    axis.set_minor_formatter(ticker.NullFormatter())


def _bars(panel, samples):
    """A bar for each contender, the best one on top; where there is one alone, for each row."""
    rows = panel.chosen_rows(samples)
    contenders = panel.chosen_contenders(samples)
    if len(contenders) == 1:
        bars = [(row, contenders[0], row.name) for row in reversed(rows)]
    else:
        best = -1 if rows[0].better == "more" else 1
        bars = [(rows[0], name, label(name)) for name in contenders]
        bars.sort(key=lambda bar: best * (samples.median(bar[0], bar[1]) or 0), reverse=True)
    height = max(INCHES[1] * 0.5, 0.75 + 0.235 * len(bars))
    figure, axes = pyplot.subplots(figsize=(INCHES[0], height))
    spreads = []
    for place, (row, contender, _) in enumerate(bars):
        look, spread = style(contender), samples.spread(row, contender)
        if spread is None:
            continue
        spreads.append(spread)
        axes.barh(
            place, spread.median, height=0.7, color=COLOURS[look.colour],
            alpha=1 if look.thick else 0.5, gid=f"series-{canonical(contender)}",
        )
        if spread.lowest < spread.highest:
            ends = [spread.lowest, spread.highest]
            axes.plot(ends, [place, place], color=COLOURS["ink"], linewidth=1)
        axes.annotate(
            text(spread.median), (spread.highest, place), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=FONT - 1,
        )
    axes.set_yticks(range(len(bars)), [name for _, _, name in bars])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, len(bars) - 0.4)
    # Room for the number behind the longest bar.
    highest = max((spread.highest for spread in spreads), default=1)
    lowest = min((spread.lowest for spread in spreads if spread.lowest > 0), default=1)
    _scale(axes, "x", panel.y.log and highest > 0)
    if panel.y.log and highest > 0:
        room = (highest / lowest) ** 0.2 if highest > lowest else 2
        axes.set_xlim(lowest / max(1.5, room), highest * max(2, room))
    else:
        axes.set_xlim(0, highest * 1.2 or 1)
    axes.set_xlabel(panel.y.title)
    axes.grid(True, axis="x")
    return figure


def short(value):
    """A tick's number: 2.5 M and not 2500000."""
    if value == 0:
        return "0"
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    if abs(value) < 0.001:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:.4g}"


# --- From matplotlib's file to the page's ---


def for_page(drawn, name, title):
    """The element alone: without a size, with ids of its own, in the page's colours."""
    tree = ElementTree.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", drawn))
    tree.attrib.pop("width", None)
    tree.attrib.pop("height", None)
    tree.attrib.pop("version", None)
    for parent in list(tree.iter()):
        for child in [one for one in parent if one.tag == f"{{{SVG}}}metadata"]:
            parent.remove(child)
    used = set(re.findall(r"url\(#([^)]+)\)", drawn)) | set(re.findall(r'href="#([^"]+)"', drawn))
    for element in tree.iter():
        known = element.attrib.pop("id", None)
        if known in used:
            element.set("id", f"{name}-{known}")
        elif known and known.startswith("series-"):
            element.set("data-series", known.removeprefix("series-"))
        for key, value in element.attrib.items():
            value = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", value)
            if key == f"{{{XLINK}}}href":
                value = re.sub(r"^#", f"#{name}-", value)
            element.set(key, value)
    if title:
        tree.set("role", "img")
        tree.set("aria-label", title)
    else:
        tree.set("aria-hidden", "true")
    out = ElementTree.tostring(tree, encoding="unicode")
    for colour, code in COLOURS.items():
        out = re.sub(code, f"var(--{colour})", out, flags=re.IGNORECASE)
    out = re.sub(r"<style[^>]*>\s*\*\{[^}]*\}\s*</style>", "", out)
    out = re.sub(r"<defs>\s*</defs>", "", out)
    # Half the size of the page is in digits that no screen shows.
    return re.sub(r"-?[0-9]+\.[0-9]{3,}", lambda found: f"{float(found[0]):.2f}", out)

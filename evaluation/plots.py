# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG: text stays text, and colours and styles come from the page (templates/plots.css), so that
a plot is small and fits light and dark pages and paper."""

import math
import re

from markupsafe import escape

from .contenders import OTHERS, STYLES, canonical, is_ours, label, style, style_of_kind
from .samples import text

WIDTH, HEIGHT = 662, 460  # twice the units of a phone's width: coordinates are whole numbers
FONT = 21
LETTER = 0.56 * FONT  # the mean width
MARGIN = 12
TICKS = 5

# Each style is a CSS class of the plots and has a marker with the same name.
CLASSES = {look: f"k{number}" for number, look in enumerate(dict.fromkeys([*STYLES.values(), *OTHERS]))}
DASHES = {"-": "", "--": "10 5", ":": "2.6 4.5", "-.": "13 5 3 5", "none": "0 99"}
SHAPES = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "s": "M-4-4H4V4H-4z",
    "D": "M0-5L5 0L0 5L-5 0z",
    "^": "M0-5L5 4H-5z",
    "v": "M0 5L5-4H-5z",
    "P": "M-2-5H2V-2H5V2H2V5H-2V2H-5V-2H-2z",
    "paper": "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0zM-6 0H6M0-6V6",
    "X": "M-5-5L0-2L5-5L2 0L5 5L0 2L-5 5L-2 0z",
}


def class_of(contender, kind=None):
    look = style_of_kind(contender, kind) if kind else style(contender)
    if look not in CLASSES:  # without a style of its own
        CLASSES[look] = f"k{len(CLASSES)}"
    return CLASSES[look]


def definitions(drawn):
    """(CSS rules, markers) of the styles in these plots."""
    used = set(re.findall(r'class="(k\d+)', drawn))
    rules, markers = [], []
    for look, name in CLASSES.items():
        if name not in used:
            continue
        line = [
            f"stroke-dasharray:{DASHES[look.dash]}" if DASHES[look.dash] else "",
            "stroke-width:5" if look.thick else "",
            f"marker:url(#{name})" if look.marker else "",
        ]
        rules.append(f".{name}{{color:var(--{look.colour})}}path.{name}{{{';'.join(filter(None, line))}}}")
        if look.marker:
            # Of the stroke's width.
            size = 9.2 if look.thick else 17.7 if look.marker == "paper" else 13.8
            hollow = "" if look.filled else ' class="hollow"'
            markers.append(
                f'<marker id="{name}" class="{name}" viewBox="-9 -9 18 18"'
                f' markerWidth="{size}" markerHeight="{size}"><path{hollow} d="{SHAPES[look.marker]}"/></marker>'
            )
    return "".join(rules), f'<svg class="markers"><defs>{"".join(markers)}</defs></svg>'


def panel_svg(panel, samples):
    """The plot of a panel."""
    body, height = (_bars if panel.kind == "bars" else _lines)(panel, samples)
    return _plot(body, height)


def _plot(body, height=HEIGHT):
    """Its name is the caption of the figure around it."""
    return f'<svg class="plot" viewBox="0 0 {WIDTH} {height}" aria-hidden="true">{body}</svg>'


def range_svg(least, most):
    """A line between two ratios, on a logarithmic scale from 1/8 to 16 that has a mark at 1: what is
    below it is lost, what is above gained."""
    def at(times):
        return round(20 * (3 + min(4, max(-3, math.log2(times) if times > 0 else -3))))

    even, first, last = at(1), at(least), max(at(most), at(least) + 3)
    parts = ((name, max(first, left), min(last, right)) for name, left, right in
             (("lost", 0, even), ("won", even, 140)))
    drawn = "".join(f'<path class="{name}" d="M{left} 6H{right}"/>' for name, left, right in parts
                    if left < right)
    return f'<svg class="range" viewBox="0 0 140 12" aria-hidden="true">{drawn}<path d="M{even} 0V12"/></svg>'


def swatch_svg(contender, kind=None):
    """A contender's line for a legend."""
    return (
        '<svg class="swatch" viewBox="0 0 72 28">'
        f'<path class="{class_of(contender, kind)}" d="M0 14H36H72"/></svg>'
    )


def kinds_svg(panel, lines):
    """The plot of a panel whose lines, (contender, kind, [(x, spread)]), are of several kinds."""
    places = sorted({x for *_, points in lines for x, _ in points})
    floor = _place_of_zero(places) if panel.x.log else None
    series = [
        (
            class_of(contender, kind),
            f' data-series="{escape(canonical(contender))}" data-kind="{kind}"',
            sorted(((x or floor or 0, spread) for x, spread in points), key=lambda point: point[0]),
        )
        for contender, kind, points in lines
    ]
    return _plot(_chart(panel, places, floor, series))


class Scale:
    """Maps values between `low` and `high` to pixels between `first` and `last`."""

    def __init__(self, low, high, log, first, last):
        self.log = log
        self.first, self.last = first, last
        self.low, self.high = low, high if high > low else (low * 10 if log else low + 1)

    def __call__(self, value):
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.first + share * (self.last - self.first))

    def ticks(self):
        if not self.log:
            rough = (self.high - self.low) / TICKS
            size = 10 ** math.floor(math.log10(rough))
            step = next(size * one for one in (1, 2, 2.5, 5, 10) if size * one >= rough * 0.999)
            return [step * n for n in range(math.ceil(self.low / step), int(self.high / step) + 1)]
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for among in ((1,), (1, 3), (1, 2, 5)):
            places = [one * 10.0**power for power in range(first, last + 1) for one in among]
            inside = [x for x in places if self.low * 0.999 <= x <= self.high * 1.001]
            if len(inside) >= 2:
                break
        return inside[:: math.ceil(len(inside) / (TICKS + 3))] if inside else [self.low]


def _in_order(contenders):
    """Ours last, so that they are drawn above the others."""
    return sorted(contenders, key=lambda name: (style(name).thick, is_ours(name)))


def _lines(panel, samples):
    rows = [row for row in panel.chosen_rows(samples) if panel.x_of(row) is not None]
    places = sorted({panel.x_of(row) for row in rows})
    floor = _place_of_zero(places) if panel.x.log else None
    series = []
    for contender in _in_order(panel.chosen_contenders(samples)):
        points = {
            panel.x_of(row) or floor or 0: spread
            for row in rows
            if (spread := samples.spread(row, contender))
        }
        if points:
            series.append((class_of(contender), "", sorted(points.items())))
    return _chart(panel, places, floor, series), HEIGHT


def _chart(panel, places, floor, series):
    """Lines of (class, further attributes, [(x, spread)])."""
    values = [v for *_, line in series for _, s in line for v in (s.lowest, s.highest)]
    y = _value_scale(values, panel.y.log, HEIGHT - 2 * FONT - 3 * MARGIN, FONT + MARGIN)
    labels = [(y(tick), short(tick)) for tick in y.ticks()]
    left = round(max((len(name) for _, name in labels), default=1) * LETTER) + FONT + 2 * MARGIN
    shown = [place or floor or 0 for place in places] or [1]
    x = Scale(shown[0], shown[-1], panel.x.log, left + MARGIN, WIDTH - 2 * MARGIN)
    parts = [_y_axis(labels, left, panel.y.title), _x_axis(x, places, floor, y.first, panel.x.title)]
    for name, more, line in series:
        if any(spread.lowest < spread.highest for _, spread in line):
            there = [(x(place), y(spread.lowest)) for place, spread in line]
            back = [(x(place), y(spread.highest)) for place, spread in reversed(line)]
            parts.append(f'<path class="{name} band" d="{_through([*there, *back])}z"/>')
        path = _through([(x(place), y(spread.median)) for place, spread in line])
        parts.append(f'<path class="{name}"{more} d="{path}"/>')
    return "".join(parts)


def _through(points):
    """A path's data, by the differences, which are shorter than the places."""
    (x, y), *rest = points
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(points, rest)]
    told = " ".join(f"{along} {up}" for along, up in steps).replace(" -", "-")
    return f"M{x} {y}l{told}" if steps else f"M{x} {y}l0 0"


def _place_of_zero(places):
    """Where 0 is drawn on a logarithmic axis: left of the least place."""
    above = [place for place in places if place > 0]
    if 0 not in places or not above:
        return None
    return above[0] / (above[1] / above[0] if len(above) > 1 else 10)


def _value_scale(values, log, first, last):
    """Logarithmic only over more than a decade, else from 0."""
    highest = max(values, default=1)
    above = [value for value in values if value > 0]
    if log and above and highest >= 10 * min(above):
        return Scale(min(above) / 1.3, highest * 1.3, True, first, last)
    return Scale(0, highest * 1.05 or 1, False, first, last)


def _y_axis(labels, left, title):
    right = WIDTH - MARGIN
    grid = "".join(f"M{left} {at}H{right}" for at, _ in labels)
    names = "".join(f'<text x="{left - 8}" y="{at + 7}">{name}</text>' for at, name in labels)
    return (
        f'<path class="grid" d="{grid}"/><g class="end">{names}</g>'
        f'<text x="0" y="{FONT - 4}">{escape(title)}</text>'
    )


def _x_axis(x, places, floor, bottom, title):
    """A tick at each place that was measured, unless there are too many."""
    ticks = [(place or floor or 0, short(place)) for place in places]
    if len(ticks) > 10:
        ticks = [(tick, short(tick)) for tick in x.ticks()]
    names, free = [], 0
    for place, name in ticks:
        half = len(name) * LETTER / 2
        if x(place) - half >= free:
            names.append(f'<text x="{x(place)}" y="{bottom + FONT + 6}">{name}</text>')
            free = x(place) + half + LETTER
    marks = "".join(f"M{x(place)} {bottom}v6" for place, _ in ticks)
    middle = (x.first + x.last) // 2
    return (
        f'<path class="axis" d="M{x.first - MARGIN} {bottom}H{WIDTH - MARGIN}{marks}"/>'
        f'<g class="middle">{"".join(names)}'
        f'<text x="{middle}" y="{HEIGHT - 6}">{escape(title)}</text></g>'
    )


def _bars(panel, samples):
    """A bar for each contender, the best on top; for each row if there is one contender."""
    rows = panel.chosen_rows(samples)
    contenders = panel.chosen_contenders(samples)
    if len(contenders) == 1:
        bars = [(row, contenders[0], row.name) for row in rows]
    else:
        bars = [(rows[0], name, label(name)) for name in contenders]
        best = -1 if rows[0].better == "more" else 1
        bars.sort(key=lambda bar: best * (samples.median(bar[0], bar[1]) or 0))
    bars = [(*bar, spread) for bar in bars if (spread := samples.spread(bar[0], bar[1]))]
    step = 28  # of which plots.css gives 20 to the bar
    bottom = MARGIN + step * len(bars)
    left = round(max((len(name) for _, _, name, _ in bars), default=1) * LETTER) + MARGIN
    room = round(9 * LETTER)  # for the number beside the longest bar
    values = [value for *_, spread in bars for value in (spread.lowest, spread.highest)]
    x = _value_scale(values, panel.y.log, left, WIDTH - room)
    ticks = x.ticks() if x.log else x.ticks()[::2]
    grid = "".join(f"M{x(tick)} {MARGIN}V{bottom}" for tick in ticks)
    names = "".join(f'<text x="{x(t)}" y="{bottom + FONT + 4}">{short(t)}</text>' for t in ticks)
    # The bars begin at 0 of a group of their own, and one path has all spreads: less to write.
    drawn, labels, spreads = [], [], ""
    for place, (_, contender, name, spread) in enumerate(bars):
        top, lowest, end, highest = (
            MARGIN + step * place + 4,
            *(x(value) - left for value in (spread.lowest, spread.median, spread.highest)),
        )
        thick = " thick" if style(contender).thick else ""
        drawn.append(f'<rect class="{class_of(contender)}{thick}" y="{top}" width="{max(end, 1)}"/>')
        drawn.append(f'<text x="{highest + 8}" y="{top + 17}">{text(spread.median)}</text>')
        labels.append(f'<text x="-8" y="{top + 17}">{escape(name)}</text>')
        if lowest < highest:
            spreads += f"M{lowest} {top + step // 2 - 4}H{highest}"
    parts = [
        f'<path class="grid" d="{grid}"/><g class="middle">{names}</g>'
        f'<g class="bars" transform="translate({left})">{"".join(drawn)}<path class="axis" d="{spreads}"/>'
        f'<g class="end">{"".join(labels)}</g></g>'
    ]
    middle = (left + WIDTH - room) // 2
    title = f'<text class="middle" x="{middle}" y="{bottom + 2 * FONT + 8}">{escape(panel.y.title)}</text>'
    return "".join(parts) + title, max(bottom + 2 * FONT + MARGIN + 4, HEIGHT // 2)


def short(value):
    """The number of a tick: 2.5 M and not 2500000."""
    if value == 0:
        return "0"
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    if abs(value) < 0.001:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:.4g}"

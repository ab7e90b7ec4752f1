# SPDX-License-Identifier: Apache-2.0
"""Prints the frames of a flame graph, an SVG file, as a JSON list: the name and the width of each."""

import json
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
frames = []
for group in tree.parse(sys.argv[1]).iter(SVG + "g"):
    title, rect = group.find(SVG + "title"), group.find(SVG + "rect")
    if title is not None and rect is not None:
        frames.append({"name": title.text, "width": float(rect.get("width").rstrip("%"))})
print(json.dumps(frames))

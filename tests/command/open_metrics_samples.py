# SPDX-License-Identifier: Apache-2.0
"""Prints the samples in a text of OpenMetrics as a JSON list; fails if it is not valid."""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

with open(sys.argv[1], encoding="utf-8", newline="") as file:
    families = list(text_string_to_metric_families(file.read()))
print(json.dumps([
    {"family": family.name, "type": family.type, "unit": family.unit, "name": sample.name,
     "labels": sample.labels, "value": sample.value}
    for family in families for sample in family.samples]))

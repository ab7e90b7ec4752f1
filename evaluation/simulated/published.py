# SPDX-License-Identifier: Apache-2.0
"""What the papers print of their figures: data files with the place of each number."""

import functools
import json
from pathlib import Path

import jsonschema

FOLDER = Path(__file__).with_name("published")
NOTHING = {"source": "", "numbers": [], "claims": []}


@functools.cache
def everything():
    """By figure."""
    schema = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
    found = {}
    for name in ("fcp", "bravo", "rcu"):
        one = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(schema).validate(one)
        found.update(one["figures"])
    return found


def of(figure):
    return everything().get(figure.id, NOTHING)

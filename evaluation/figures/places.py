"""Places on an axis, for rows that tell theirs in words only."""

import re


def first_number(name):
    """Of '100 us between writes': 100."""
    found = re.search(r"[0-9]+(\.[0-9]+)?", name)
    return float(found[0]) if found else None

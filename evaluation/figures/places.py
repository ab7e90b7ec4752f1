# SPDX-License-Identifier: Apache-2.0
"""Places on an axis of rows whose names contain them."""

import re


def first_number(name):
    """100 for '100 us between writes'."""
    found = re.search(r"[0-9]+(\.[0-9]+)?", name)
    return float(found[0]) if found else None

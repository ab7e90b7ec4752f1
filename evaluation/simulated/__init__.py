# SPDX-License-Identifier: Apache-2.0
"""The papers' figures to their full width, on simulated machines, beside what the papers print."""

from .figures import ALL, named, names

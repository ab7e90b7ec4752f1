# SPDX-License-Identifier: Apache-2.0
"""Ends the command with one line: the problem and its remedy."""

STATUS = 125  # as for the other commands of readmost


class Failure(Exception):
    pass

# SPDX-License-Identifier: Apache-2.0
"""Loads Readmost's printers with a library: <data>/readmost/readmost-gdb.py, where this is
<data>/gdb/auto-load/<folder of the library>/<name of the library>-gdb.py."""

import os

import gdb

script = __file__.rpartition("/gdb/auto-load/")[0] + "/readmost/readmost-gdb.py"
if os.path.exists(script):  # a package of its own may have it
    gdb.execute("source " + script)

# SPDX-License-Identifier: Apache-2.0
"""Loads Readmost's printers with libreadmost-pthread.so: <data>/readmost/readmost-gdb.py, where this is
<data>/gdb/auto-load/<folder of the library>/libreadmost-pthread.so-gdb.py."""

import gdb

gdb.execute("source " + __file__.rpartition("/gdb/auto-load/")[0] + "/readmost/readmost-gdb.py")

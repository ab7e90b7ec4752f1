# SPDX-License-Identifier: Apache-2.0
"""The command `readmost` starts this for `readmost bench` and `readmost report`."""

import sys
from pathlib import Path

# Behind everything else: the folder above holds more than this package.
sys.path.append(str(Path(__file__).parent.parent))

from evaluation.command import main

sys.exit(main(sys.argv[1:]))

"""How tests start openpts: by the interpreter that runs them, whether or not a script is installed."""

import sys
from typing import Final

COMMAND: Final = (sys.executable, "-c", "from openpts.cli.main import main; main()")
TESTBENCH: Final = (sys.executable, "-m", "openpts_testbench")
"""How they serve a drive in a process of its own."""

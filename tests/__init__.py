"""Where tests find the files of the checkout, and what was recorded for them."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
DATA: Final = ROOT / "tests" / "data"

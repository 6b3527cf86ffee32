"""Rows of popular benchmarks, which several tests measure. Each is a TOML file of ``CATALOGUE``."""

from pathlib import Path
from typing import Final

CATALOGUE: Final = Path(__file__).parent / "catalogue"

NAMES: Final = tuple(sorted(path.stem for path in CATALOGUE.glob("*.toml")))
"""What the benchmarks are called, without a look into their files."""


def is_path(word: str) -> bool:
    """Whether a word means a file of the operator's own, and not one of ``NAMES``."""
    return "/" in word or word.endswith(".toml")

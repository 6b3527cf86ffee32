"""Where openpts implements a requirement: the evidence for what holds by construction.

places.toml is made from marks in the sources by docs/conformance_page.py.
"""

import tomllib
from functools import cache
from importlib import resources

import msgspec


@cache
def places() -> dict[str, tuple[str, ...]]:
    """File and symbol by the requirement's ID: ``pts/iops.py:iops_test``."""
    file = resources.files("openpts.conformance") / "places.toml"
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, tuple[str, ...]])

"""The tests of openpts that prove what is built in: state 2 of a requirement, see conformance.py.

proofs.toml is made from the tests' marks by docs/conformance_page.py; a test holds it equal to them.
"""

import tomllib
from functools import cache
from importlib import resources

import msgspec


@cache
def proofs() -> dict[str, tuple[str, ...]]:
    """File and function of each test by the requirement's ID: ``tests/unit/test_units.py::test_...``."""
    file = resources.files("openpts.conformance") / "proofs.toml"
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, tuple[str, ...]])

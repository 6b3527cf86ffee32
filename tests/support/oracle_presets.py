"""Presets of drives that follow a script, written as a user would write them: what a tool must say of such a
drive is known beforehand.
"""

from collections.abc import Sequence
from pathlib import Path

from openpts.units import MIB

CAPACITY_BYTES = 256 * MIB


def write_oracle(
    folder: Path,
    iops: Sequence[float],
    *,
    by: str = "steps",
    every: int = 1,
    skip: int = 0,
    oracle: str = "",
    extra: str = "",
    purge: str = "works",
    name: str = "oracle-of-a-test",
) -> Path:
    """The path of a preset whose rate follows ``iops``; ``oracle`` are further keys and
    ``extra`` further tables.
    """
    path = folder / f"{name}.toml"
    path.write_text(
        f"""
name = "{name}"
summary = "a script, for a test"
capacity_bytes = {CAPACITY_BYTES}
purge = "{purge}"

[oracle]
{oracle}

[oracle.rate]
by = "{by}"
every = {every}
skip = {skip}
iops = {[float(rate) for rate in iops]}

{extra}
"""
    )
    return path

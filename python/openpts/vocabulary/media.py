"""What a drive holds its data in, in the words that facts and reports have for it."""

from typing import Final

from openpts.vocabulary.facts import Facts

SOLID_STATE: Final = "solid state"
ROTATIONAL: Final = "rotational"


def media_of(dut: Facts) -> str | None:
    """What the facts of a drive say of its media; None where nobody tells."""
    return dut["media"].value if "media" in dut else None


def has_platters(dut: Facts) -> bool:
    """Whether the facts of a drive tell of a rotational disk, with its speed or without."""
    return (media_of(dut) or "").startswith(ROTATIONAL)

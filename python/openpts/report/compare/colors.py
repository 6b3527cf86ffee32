"""The colors of sets, those first that are far from each other in thin lines and small dots."""

from typing import Final

_ORDER: Final = (2, 3, 4, 7, 5, 0, 6, 1)


def color_of(place: int) -> int:
    """The palette's index for the set at a place."""
    return _ORDER[place % len(_ORDER)]

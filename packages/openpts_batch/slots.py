"""Names of slots: which are beside each other."""

import re
from typing import Final

_NUMBER: Final = re.compile(r"(.*?)0*([0-9]+)")
_NOT_IN_SPACE: Final = ("-", ".", ":")
"""Before the number of a port or a PCI function in the name of a path."""


def are_beside(one: str | None, other: str | None) -> bool:
    """Whether slots are numbered one behind the other, in the same enclosure; paths are not."""
    first, second = (_NUMBER.fullmatch(text or "") for text in (one, other))
    if first is None or second is None or first[1] != second[1] or first[1].endswith(_NOT_IN_SPACE):
        return False
    return abs(int(first[2]) - int(second[2])) == 1

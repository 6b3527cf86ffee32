"""The order and extent of a report."""

from enum import StrEnum


class Style(StrEnum):
    """FULL begins with the answer, SPECIFICATION has the order of SNIA's sample, SHORT the form of TKperf."""

    FULL = "full"
    SPECIFICATION = "specification"
    SHORT = "short"

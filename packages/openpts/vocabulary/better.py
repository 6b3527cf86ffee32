"""Which way of a figure is better."""

from enum import StrEnum


class Better(StrEnum):
    """UNJUDGED where neither way is better, such as of the ratio of a fresh drive to a steady one."""

    HIGHER = "higher"
    LOWER = "lower"
    UNJUDGED = "unjudged"

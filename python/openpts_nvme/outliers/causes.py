"""The causes of a slow I/O, by the way that it takes."""

from enum import StrEnum


class Cause(StrEnum):
    """What made an I/O slow. NOT_KNOWN: the record does not tell."""

    ENGINE = "engine"
    PROCESSOR = "processor"
    KERNEL_QUEUE = "kernel queue"
    NEIGHBOUR = "neighbour"
    LINK = "link"
    HEAT = "heat"
    POWER_STATE = "power state"
    DRIVE = "drive"
    NOT_KNOWN = "not known"

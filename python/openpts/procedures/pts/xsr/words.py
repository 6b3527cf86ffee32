"""Cells and names that the pages of XSR share."""

from openpts.pages import cells
from openpts.pages.model import Cell
from openpts.procedures.pts.xsr.conditions import CrossStimulusConditions
from openpts.units import MB


def group_name(number: int, conditions: CrossStimulusConditions) -> str:
    """Order and size of an access group's writes: ``SEQ 1024 KiB``."""
    return conditions.groups[number - 1].workload.title.removesuffix(" RW0")


def rate_cell(bytes_per_s: float) -> Cell:
    """Throughput in MB/s."""
    return cells.number(bytes_per_s / MB, 1)

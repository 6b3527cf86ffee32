"""A question in the short report: the page that is forwarded, and nothing else."""

from collections.abc import Sequence

from openpts.units import format_capacity
from openpts_check.check import CheckConditions
from openpts_pages.model import Block, Section
from openpts_pts.shared.short_report import Picked


def introduction(sections: Sequence[Section], conditions: CheckConditions) -> str:
    """What was done, as recorded."""
    del sections
    return (
        f"The loads of {conditions.purpose} on {format_capacity(conditions.size_bytes)} of a disk in use, "
        f"{conditions.repeats} times"
    )


def blocks(sections: Sequence[Section], conditions: CheckConditions) -> list[Block]:
    """All of the answer's page."""
    del conditions
    page = Picked(sections[0]).page("answer")
    return [] if page is None else list(page.blocks)

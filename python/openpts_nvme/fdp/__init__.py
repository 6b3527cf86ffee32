"""Flexible Data Placement: practice beyond the PTS."""

from typing import Annotated, Final

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import Field
from openpts.fields.kinds import count, listed, number, percent
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.phase import Phase

TOGETHER: Final = 1
APART: Final = 2
"""Numbers of the loads: both streams with the first handle, and each with its own."""


class FdpConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="fdp"):
    """Two streams that write in turns: one again and again over ``hot_pct`` of the range, one over the rest.

    They write with the first of ``handles`` both, and after a purge with a handle each. Before each load the
    rest of the range is written ``aging_passes`` times, and in it ``passes`` times more.
    """

    parameters = ("handles", "hot_pct", "aging_passes", "passes", ...)

    handles: Annotated[
        tuple[int, ...],
        Field(
            "Placement handles",
            "Placement handle of the stream that is soon overwritten, and that of the other.",
            listed(count(0, 65_535), least=2, most=2),
        ),
    ]
    hot_pct: Annotated[
        float,
        Field(
            "Range that is soon overwritten (%)",
            "Part of the range that the first stream writes, in per cent.",
            percent(gt=0, le=50),
        ),
    ]
    aging_passes: Annotated[
        float,
        Field(
            "Passes before a load",
            "Times the rest of the range is written before each load.",
            number(gt=0, le=1000),
            amount=True,
        ),
    ]
    passes: Annotated[
        float,
        Field(
            "Passes of a load",
            "Times the rest of the range is written in each load.",
            number(gt=0, le=1000),
            amount=True,
        ),
    ]
    block_size_bytes: Annotated[int, usual.BLOCK_SIZE.but(help="Block size of the writes.")]
    qd: Annotated[int, usual.QD.but(help="Writes outstanding of each stream.")]


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=FdpConditions,
    title="Flexible Data Placement",
    short_title="Placement",
    question="Does the drive keep data apart that have placement handles of their own, and what does that "
    "save of its media?",
    purpose="""Whether a drive follows placement handles: write amplification with one handle and with two.

    At full length: for each of both, a purge and four times the user capacity of writes by two streams, one
    of which soon overwrites its data. A drive without placement handles is refused before anything is erased.
    Drives that exist are written by --io-path nvme-passthrough.
    """,
    quick={"aging_passes": 0.75, "passes": 0.25},
    on_model=False,
    driver="openpts_nvme.fdp.driver:PlacementDriver",
    log_around=frozenset({Phase.LOAD}),
)

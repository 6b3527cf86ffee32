"""Power Cuts: practice beyond the PTS."""

from typing import Annotated, ClassVar, Final

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import AMOUNT, SECONDS, SIZE, WHOLE_PERCENT, Field, ValueType, count, listed
from openpts.procedures.kit.procedure import Procedure

_COMMAND: Final = ValueType(str, metavar="COMMAND", limits={"min_length": 1, "max_length": 1000})


class PowerCutConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="powercut"):
    """``cycles`` cuts in each state of the write cache that the drive has.

    Each comes after ``load_ns`` of writes, or half or one and a half times that, at random. The writes have
    ``write_sizes_bytes`` and go to the first ``range_bytes`` of the drive, with ``tc`` x ``qd`` outstanding.
    The drive has to be back ``back_ns`` after ``cut_command`` has ended.
    """

    parameters = ("cut_command", "cycles", "load_ns", "range_bytes", "write_sizes_bytes", ...)

    cut_command: Annotated[
        str | None,
        Field(
            "Cut command",
            "Run this program to cut the power of the drive and to give it back. No shell.",
            _COMMAND,
            examples=("/usr/local/bin/relay --off-seconds 5",),
            free="how the power is cut",
        ),
    ] = None
    cycles: Annotated[
        int,
        Field("Cuts in each state of the cache", "Cuts in each state of the write cache.", count(1, 100_000)),
    ]
    load_ns: Annotated[int, Field("Writes before each cut", "Mean time of writes before each cut.", SECONDS)]
    range_bytes: Annotated[
        int, Field("Range", "Write to this much of the drive, from its beginning.", AMOUNT)
    ]
    write_sizes_bytes: Annotated[
        tuple[int, ...],
        Field("Write sizes", "Sizes of the writes, each as likely as any other.", listed(SIZE)),
    ]
    tc: Annotated[int, usual.TC]
    qd: Annotated[int, usual.QD]
    writes_per_flush: Annotated[
        int, Field("Writes per flush", "Writes from one flush to the next, on average.", count(1, 1_000_000))
    ]
    fua_pct: Annotated[
        int, Field("Writes with FUA (%)", "Share of the writes with Force Unit Access.", WHOLE_PERCENT)
    ]
    back_ns: Annotated[
        int,
        Field(
            "Drive has to be back within",
            "Wait this long for the drive after the cut command has ended.",
            SECONDS,
            rare=True,
        ),
    ]

    # how long a drive may take to come back is no part of the test's length
    unscaled: ClassVar[tuple[str, ...]] = ("back_ns",)

    @property
    def demand(self) -> tuple[int, int] | None:
        """See the base class."""
        return self.tc, self.qd


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=PowerCutConditions,
    title="Power Cuts",
    short_title="Power Cuts",
    question="Does the drive keep through a power cut what it has acknowledged?",
    purpose="""Whether a drive keeps through power cuts what it has to keep: acknowledged data.

    At full length: 50 cuts with the volatile write cache on and 50 with it off, in the middle of random
    writes with flushes. Then all of the written range is read back. --cut-command cuts the
    power of the drive and gives it back; a simulated drive needs none. Ends with status 7 if data were
    lost. Untried on hardware.
    """,
    quick={"cycles": 3, "load_seconds": 1, "range": "16MiB"},
    purges=False,
    driver="openpts_app.drivers.power_cut:PowerCutDriver",
    sections={"cuts": "openpts.vocabulary.power:Cut"},
)

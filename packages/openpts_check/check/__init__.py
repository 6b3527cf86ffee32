"""A Question about a Disk in Use: practice beyond the PTS."""

from typing import Annotated, ClassVar, Final

from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import AMOUNT, SECONDS_OR_NONE, Field, ValueType, count
from openpts.procedures.kit.procedure import Procedure
from openpts_check.purpose import purpose_named, purpose_names


def _purpose_name(_name: str, word: str) -> str:
    return purpose_named(word).name


_ASKED: Final = "what is asked, not how it is measured"


class CheckConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="check"):
    """The loads of ``purpose`` on the first ``size_bytes`` of the target, ``repeats`` times.

    Each load lasts ``minute_ns``. ``heat_ns`` of its heaviest load come behind the repeats, for purposes that
    ask what heat does.
    """

    unused: ClassVar[frozenset[str]] = frozenset({"segments", "write_cache_enabled"})
    unscaled: ClassVar[tuple[str, ...]] = ("heat_ns",)

    purpose: Annotated[
        str,
        Field(
            "Purpose",
            "Answer for this purpose; `openpts check` lists them.",
            ValueType(str, _purpose_name, metavar="PURPOSE"),
            examples=("commit",),
            section="What",
            free=_ASKED,
        ),
    ]
    size_bytes: Annotated[
        int, Field("Size of the part that is used", "Use this much of the target.", AMOUNT, free=_ASKED)
    ]
    repeats: Annotated[int, Field("Repeats", "Apply all loads this many times.", count(1, 100), amount=True)]
    heat_ns: Annotated[
        int,
        Field(
            "Heat behind the repeats",
            "Read or write this long behind the repeats, then measure once more; 0.",
            SECONDS_OR_NONE,
            free=_ASKED,
        ),
    ]

    @property
    def question(self) -> str:
        """See the base class; that of the purpose, if it is installed here."""
        return purpose_named(self.purpose).question if self.purpose in purpose_names() else ""


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=CheckConditions,
    title="Question about a Disk in Use",
    short_title="Check",
    question="Is the disk in my machine good enough for what I want of it, and how long will it last?",
    purpose="""Whether a disk is good enough for a purpose, by three figures held against published bounds.

    `openpts check DIR --for PURPOSE` asks on files of its own beside the data of others, and is what most
    people want. This asks the same of a simulated drive, a scratch file, or a whole drive without data.
    """,
    quick={"step_seconds": 1, "repeats": 2},
    purges=False,
    driver="openpts_check.drivers.driver:CheckDriver",
)

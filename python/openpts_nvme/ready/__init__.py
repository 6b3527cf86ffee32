"""Time to Ready: practice beyond the PTS."""

from collections.abc import Collection
from typing import Annotated, ClassVar, Final

from openpts.fields.conditions import Contradictions, ExtendedConditions
from openpts.fields.field import Field, Kind
from openpts.fields.kinds import count, one_of
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.readiness import Way

TITLES: Final = {
    Way.RESET: "a reset of its controller",
    Way.SUBSYSTEM_RESET: "a reset of its NVM subsystem",
    Way.FLR: "a Function Level Reset",
    Way.RESCAN: "its namespaces were looked for again",
    Way.REMOVAL: "its removal and return",
    Way.POWER: "its slot was switched off and on",
    Way.FIRMWARE: "its firmware was activated again",
}
"""What ends the words "after ..."."""


class ReadyConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="ready"):
    """``repeats`` interruptions: ``after`` this way, or by ``interrupt_command`` where there is one."""

    parameters = ("after", "interrupt_command", "repeats")
    unused: ClassVar[frozenset[str]] = frozenset(map(str, ExtendedConditions.parameters))

    after: Annotated[
        Way,
        Field(
            "Interrupted by",
            "Interrupt it by a reset of its controller or its subsystem, flr (Function Level Reset), a "
            "rescan of its namespaces, removal (and return), power (of its slot), or firmware, which is "
            "activated again.",
            one_of(*Way),
            free="what is asked",
        ),
    ]
    interrupt_command: Annotated[
        str | None,
        Field(
            "Interrupting command",
            "Run this program to interrupt the drive, such as a power switch. No shell.",
            Kind(str, metavar="COMMAND", limits={"min_length": 1, "max_length": 1000}),
            examples=("/usr/local/bin/relay --off-seconds 5",),
            free="how it is interrupted",
        ),
    ] = None
    repeats: Annotated[
        int, Field("Interruptions", "Interrupt the drive so many times.", count(1, 1000), amount=True)
    ]

    @property
    def title(self) -> str:
        """What ends the words "after ..."."""
        return TITLES[self.after] if self.interrupt_command is None else f"`{self.interrupt_command}`"

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """A drive is interrupted in one way."""
        if self.interrupt_command is not None and "after" in given:
            yield (
                ("after", "interrupt_command"),
                "--after and --interrupt-command are two ways to interrupt the drive: name one",
            )


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ReadyConditions,
    title="Time to Ready",
    short_title="Time to Ready",
    question="How soon does an NVMe drive work again after it was reset, removed or without power?",
    purpose="""How soon an NVMe drive works again after an interruption. INTERRUPTS the drive.

    Identify commands, and a 4-KiB read every millisecond, are sent all the time. Reported are the times from
    each of 6 interruptions to the first of each that succeeds, and the longest gap of the reads, beside the
    limits of OCP. Nothing is written to the drive, but power that is cut may cost what is in its cache. A
    drive that was removed is brought back, also by the next run if this one is killed.
    """,
    quick={"repeats": 2},
    purges=False,
    driver="openpts_nvme.drivers.ready.driver:ReadyDriver",
    on_model=False,
    target_help="""
    TARGET is an NVMe drive such as /dev/nvme0n1.
""",
)

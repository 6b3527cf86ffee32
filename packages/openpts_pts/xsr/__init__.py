"""Cross Stimulus Recovery: PTS section 12."""

from collections.abc import Collection
from typing import Annotated, Any, Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.fields import usual
from openpts.fields.conditions import Conditions, StepCounts
from openpts.fields.field import DEPTH, SECONDS, THREADS, Field, ValueType, listed
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.workload import Workload, duration_text, workload_text
from openpts_pts.shared.continuous import MINUTES_PER_STEP

_GROUPS: Final = 3


class AccessGroup(Struct, frozen=True):
    """One of the three long stimuli of XSR, with its own demand (PTS 12.2)."""

    workload: Annotated[Workload, usual.ONE_WORKLOAD]
    tc: Annotated[int, usual.TC]
    qd: Annotated[int, usual.QD]
    duration_ns: Annotated[int, Field("Length")]

    @property
    def name(self) -> str:
        """Order and size of the writes: ``SEQ 1024 KiB``."""
        return self.workload.title.removesuffix(" RW0")

    def __str__(self) -> str:
        length = duration_text(self.duration_ns)
        return f"{workload_text(self.workload)} at TC {self.tc} QD {self.qd} for {length}"


def _of_groups(name: str, field: str, description: str, kind: ValueType) -> Field:
    """One field of all access groups, in their order; several may have the same value."""

    def change(written: str, values: list[Any], conditions: Any) -> Any:
        pairs = zip(conditions.groups, values, strict=True)
        groups = tuple(replace(group, **{field: kind.read(written, value)}) for group, value in pairs)
        return replace(conditions, groups=groups)

    def show(conditions: Any) -> str:
        return ",".join(kind.show(getattr(group, field)) for group in conditions.groups)

    values = listed(kind, least=_GROUPS, most=_GROUPS)
    return Field("", description, values, name=name, field="groups", change=change, show=show)


class CrossStimulusConditions(Conditions, frozen=True, kw_only=True, tag_field="test", tag="xsr"):
    """Cross stimulus recovery (PTS 12.2)."""

    parameters = (
        "segments",
        _of_groups("group_seconds", "duration_ns", "Lengths of the three access groups.", SECONDS),
        _of_groups("group_tcs", "tc", "Thread counts of the three access groups.", THREADS),
        _of_groups("group_qds", "qd", "Queue depths of the three access groups.", DEPTH),
    )

    groups: Annotated[tuple[AccessGroup, ...], Field("Access groups", amount=True)]

    def lengthened(self, needed_ns: int, standard: Self, kept: Collection[str]) -> Self:
        """The access groups too."""
        longer = super().lengthened(needed_ns, standard, kept)
        if "groups" in kept:
            return longer
        pairs = zip(self.groups, standard.groups, strict=True)
        durations = (max(ours.duration_ns, min(full.duration_ns, needed_ns)) for ours, full in pairs)
        groups = zip(self.groups, durations, strict=True)
        return replace(longer, groups=tuple(replace(one, duration_ns=length) for one, length in groups))

    def step_counts(self) -> StepCounts:
        """The long stimuli in steps of some minutes."""
        total_ns = sum(group.duration_ns for group in self.groups)
        yield ("step_seconds", "group_seconds"), total_ns // (MINUTES_PER_STEP * self.minute_ns)


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=CrossStimulusConditions,
    title="Cross Stimulus Recovery",
    short_title="XSR",
    question="How does a drive take the change from large sequential to small random writes, and back?",
    section=12,
    purpose="""How a drive recovers from changes between sequential and random writes.

    At full length: 8 hours of SEQ 1024 KiB writes, 6 hours of RND 8 KiB writes, 8 hours of SEQ 1024 KiB
    writes. There is no pause: 22 hours.
    """,
    quick={"time_scale": "1/720"},
    trends={6: "xsr-1-tp-plot", 15: "xsr-4-art-plot"},
)

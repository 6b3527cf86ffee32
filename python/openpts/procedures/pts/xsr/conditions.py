"""The conditions of the cross stimulus recovery test."""

from msgspec import Struct

from openpts.vocabulary.condition_text import duration_text, workload_text
from openpts.vocabulary.conditions import Conditions
from openpts.vocabulary.workload import Workload


class AccessGroup(Struct, frozen=True):
    """One of the three long stimuli of XSR, with its own demand (PTS 12.2)."""

    workload: Workload
    tc: int
    qd: int
    duration_ns: int

    def __str__(self) -> str:
        length = duration_text(self.duration_ns)
        return f"{workload_text(self.workload)} at TC {self.tc} QD {self.qd} for {length}"


class CrossStimulusConditions(Conditions, frozen=True, kw_only=True, tag_field="test", tag="xsr"):
    """Cross stimulus recovery (PTS 12.2)."""

    groups: tuple[AccessGroup, ...]

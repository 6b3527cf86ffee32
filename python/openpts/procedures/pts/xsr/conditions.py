"""The conditions of the cross stimulus recovery test."""

from msgspec import Struct

from openpts.vocabulary.conditions import BaseConditions
from openpts.vocabulary.workload import Workload


class AccessGroup(Struct, frozen=True):
    """One of the three long stimuli of XSR, with its own demand (PTS 12.2)."""

    workload: Workload
    tc: int
    qd: int
    duration_ns: int


class CrossStimulusConditions(BaseConditions, frozen=True, kw_only=True, tag_field="test", tag="xsr"):
    """Cross stimulus recovery (PTS 12.2)."""

    groups: tuple[AccessGroup, ...]

"""The conditions of each test: what the operator may set, and what section 5 and the header report.

Durations are nanoseconds in fields that end in ``_ns``, repetitions are in ``max_rounds`` and ``cycles``:
fields/time_scale.py shortens exactly those.
"""

from enum import StrEnum
from typing import ClassVar

from msgspec import Struct, field

from openpts.vocabulary.data import DataPattern, RandomData
from openpts.vocabulary.placement import Segments
from openpts.vocabulary.stimulus import ActiveRange, Stimulus
from openpts.vocabulary.workload import Workload


class DriveClass(StrEnum):
    """Enterprise or client, PTS-E or PTS-C: the two sets of settings of the specification."""

    ENTERPRISE = "enterprise"
    CLIENT = "client"

    @property
    def revision(self) -> str:
        """The header's field Rev. (PTS 5.1)."""
        return f"PTS-{'E' if self is DriveClass.ENTERPRISE else 'C'} 2.0.1"


class Conditions(Struct, frozen=True, kw_only=True):
    """What all tests have in common.

    ``segments`` restrict random accesses to LBA segments spread over the active range (PTS 6 (5)); None is
    the whole of it. ``time_scale`` is the share of the specification's durations and repetitions that this
    run has; it is already in the other fields. Without ``secondary_metrics`` the report has no page that the
    specification makes optional. ``minute_ns`` is the length of an element and of a record of
    continuous stimuli: the specification's minute. ``of_specification`` is False for tests beyond it.
    ``drive_class`` is ``profile`` in a record, as in those of earlier versions.
    """

    of_specification: ClassVar[bool] = True

    drive_class: DriveClass = field(name="profile")
    write_cache_enabled: bool
    active_range: ActiveRange
    seed: int
    segments: Segments | None = None
    data: DataPattern = RandomData()
    time_scale: float = 1.0
    minute_ns: int = 60 * 10**9
    secondary_metrics: bool = True

    @property
    def test(self) -> str:
        """The test's short name: ``iops``."""
        return str(self.__struct_config__.tag)

    @property
    def class_text(self) -> str:
        """``PTS-E 2.0.1``; a test beyond the specification has only the class that its settings follow."""
        return self.drive_class.revision if self.of_specification else f"{self.drive_class.value} class"

    def stimulus(self, workload: Workload, *, tc: int, qd: int, read_pct: int | None = None) -> Stimulus:
        """A workload at a demand, in the range and with the data of this test."""
        return workload.stimulus(
            tc=tc,
            qd=qd,
            active_range=self.active_range,
            data=self.data,
            segments=self.segments,
            read_pct=read_pct,
        )


class ExtendedConditions(Conditions, frozen=True, kw_only=True):
    """What these tests have in common: no specification to deviate from."""

    of_specification: ClassVar[bool] = False

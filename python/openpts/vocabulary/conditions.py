"""The conditions of each test: what the operator may set, and what section 5 and the header report.

Durations are nanoseconds in fields that end in ``_ns``, repetitions are in ``max_rounds`` and ``cycles``:
pts/time_scale.py shortens exactly those.
"""

from enum import StrEnum
from typing import ClassVar

from msgspec import Struct, field

from openpts.vocabulary.data_pattern import DataPattern, RandomData
from openpts.vocabulary.placement import Segments
from openpts.vocabulary.stimulus import ActiveRange, Stimulus
from openpts.vocabulary.verdict import TrackingVariable
from openpts.vocabulary.workload import Workload


class DriveClass(StrEnum):
    """Enterprise or client, PTS-E or PTS-C: the two sets of settings of the specification."""

    ENTERPRISE = "enterprise"
    CLIENT = "client"

    @property
    def revision(self) -> str:
        """The header's field Rev. (PTS 5.1)."""
        return f"PTS-{'E' if self is DriveClass.ENTERPRISE else 'C'} 2.0.1"


class BaseConditions(Struct, frozen=True, kw_only=True):
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


class RoundConditions(BaseConditions, frozen=True, kw_only=True):
    """A test of rounds over R/W mixes and block sizes: IOPS, throughput, latency (PTS 7, 8, 9).

    Sizes in bytes, mixes as per cent of reads, in the order of the loops. ``skipped_block_sizes_bytes`` are
    those that the device's sector size makes impossible. ``precondition_passes`` counts in user capacities
    written; ``precondition_tc`` and ``precondition_qd`` None are those of the test.
    """

    tc: int
    qd: int
    precondition_block_size_bytes: int
    precondition_passes: float
    precondition_tc: int | None = None
    precondition_qd: int | None = None
    read_pcts: tuple[int, ...]
    block_sizes_bytes: tuple[int, ...]
    skipped_block_sizes_bytes: tuple[int, ...] = ()
    max_rounds: int
    tracking: tuple[TrackingVariable, ...]


class IopsConditions(RoundConditions, frozen=True, kw_only=True, tag_field="test", tag="iops"):
    """IOPS test (PTS 7.2)."""


class ThroughputConditions(RoundConditions, frozen=True, kw_only=True, tag_field="test", tag="tp"):
    """Throughput test (PTS 8.2): one cycle from purge to steady state for each of ``block_sizes_bytes``.

    ``precondition_block_size_bytes`` counts for nothing: each cycle preconditions with its own size.
    """


class LatencyConditions(RoundConditions, frozen=True, kw_only=True, tag_field="test", tag="lat"):
    """Latency test (PTS 9.2). ``nines`` None leaves the histogram at its length."""

    histogram_ns: int
    nines: int | None = None


class WriteSaturationConditions(BaseConditions, frozen=True, kw_only=True, tag_field="test", tag="wsat"):
    """Write saturation (PTS 10.2): one cycle from the purge on for each of ``workloads``.

    Sequential workloads have a demand of their own. ``tracking_period_ns`` lies between the starts of the
    tracked minutes. ``impossible`` says in words which sizes the device's sectors rule out, of which
    workload.
    """

    workloads: tuple[Workload, ...]
    impossible: tuple[str, ...] = ()
    tc: int
    qd: int
    sequential_tc: int
    sequential_qd: int
    drive_fills: float
    longest_ns: int
    tracking_period_ns: int
    stop_when_steady: bool = False
    steady_after_drive_fills: float = 1
    histogram_ns: int
    nines: int | None = None


class WaitState(Struct, frozen=True):
    """Idle time after each access A (PTS 11.2); ``number`` is the name: 1, 2, 3, 5, 10."""

    number: int
    idle_ns: int


class IdleRecoveryConditions(BaseConditions, frozen=True, kw_only=True, tag_field="test", tag="hir"):
    """Host idle recovery (PTS 11.2): ``cycles`` accesses of ``access_ns`` in each segment."""

    workload: Workload
    tc: int
    qd: int
    tracking_period_ns: int
    max_rounds: int
    access_ns: int
    cycles: int
    wait_states: tuple[WaitState, ...]


class AccessGroup(Struct, frozen=True):
    """One of the three long stimuli of XSR, with its own demand (PTS 12.2)."""

    workload: Workload
    tc: int
    qd: int
    duration_ns: int


class CrossStimulusConditions(BaseConditions, frozen=True, kw_only=True, tag_field="test", tag="xsr"):
    """Cross stimulus recovery (PTS 12.2)."""

    groups: tuple[AccessGroup, ...]


class DemandConditions(BaseConditions, frozen=True, kw_only=True):
    """Demand variation: CBW and DIRTH (PTS 13.2, 14.2), with the demand of preconditioning and pre-writes.

    ``tcs`` and ``qds`` make the operating points. ``precondition_passes`` counts in user capacities of the
    optional WIPC. An inter-round pre-write ends after ``prewrite_longest_ns`` or
    ``prewrite_capacity_pct`` of the user capacity, but not before ``prewrite_shortest_ns``. The MaxIOPS
    point has an ART below ``art_limit_ns``; that field is a limit of response times and is never scaled.
    ``capture`` keeps every completion time of the histograms. ``skipped_block_sizes_bytes`` were left out of
    the workload because of the device's sector size.
    """

    unscaled: ClassVar[tuple[str, ...]] = ("art_limit_ns",)

    workload: Workload
    skipped_block_sizes_bytes: tuple[int, ...] = ()
    tcs: tuple[int, ...]
    qds: tuple[int, ...]
    precondition_tc: int
    precondition_qd: int
    precondition_passes: float = 0
    tracking_period_ns: int
    max_rounds: int
    prewrite_shortest_ns: int
    prewrite_longest_ns: int
    prewrite_capacity_pct: float
    art_limit_ns: int
    plateau_pct: float
    mid_points: int
    histogram_prewrite_ns: int
    histogram_ns: int
    capture: bool = True


class CompositeConditions(DemandConditions, frozen=True, kw_only=True, tag_field="test", tag="cbw"):
    """Composite block size workload (PTS 13.2)."""


class DemandIntensityConditions(DemandConditions, frozen=True, kw_only=True, tag_field="test", tag="dirth"):
    """Demand intensity and response time histogram (PTS 14.2)."""

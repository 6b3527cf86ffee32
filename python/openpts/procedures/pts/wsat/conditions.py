"""The conditions of the write saturation test."""

from typing import ClassVar

from openpts.vocabulary.conditions import Conditions
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import Workload


class WriteSaturationConditions(Conditions, frozen=True, kw_only=True, tag_field="test", tag="wsat"):
    """Write saturation (PTS 10.2): one cycle from the purge on for each of ``workloads``.

    Sequential workloads have a demand of their own. ``tracking_period_ns`` lies between the starts of the
    tracked minutes. ``impossible`` says in words which sizes the device's sectors rule out, of which
    workload.
    """

    steady_state: ClassVar[SteadyState] = SteadyState.MINUTES

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

    @property
    def demand(self) -> tuple[int, int]:
        """TC and QD."""
        return self.tc, self.qd

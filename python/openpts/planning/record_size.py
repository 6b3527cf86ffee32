"""How large a run's folder may get: the record from its intervals, a capture from the I/Os.

Upper bounds for a usual drive, good enough to tell a disk that is too small.
"""

from collections.abc import Sequence
from typing import Final

from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.dry_run import PlannedApply
from openpts.units import NS_PER_S
from openpts.vocabulary.stimulus import Step

# A histogram of an interval takes 2 to 6 KB on drives that exist, a row beside it a tenth of that.
_BYTES_PER_OPERATION: Final = 6_000
_BYTES_PER_INTERVAL: Final = 200
# Before the first step there are manifest, tables and indices.
_BYTES_AT_LEAST: Final = 1_000_000
# 7.8 B are measured for random transfers of 4 KiB, 8.2 B in units of 512 B.
_BYTES_PER_CAPTURED_IO: Final = 9


def record_bytes(planned: Sequence[PlannedApply], interval_ns: int) -> int:
    """Size of run.db after all of these steps."""
    return _BYTES_AT_LEAST + sum(
        _step_bytes(step, duration_ns, interval_ns)
        for one in planned
        for step, duration_ns in zip(one.apply.steps, one.durations_ns, strict=True)
    )


def capture_bytes(planned: Sequence[PlannedApply], drive: AssumedDrive) -> int:
    """Size of the files with every single I/O, at the rates of the assumed drive."""
    return round(
        sum(
            drive.ios_per_s(step.stimulus) * duration_ns / NS_PER_S * _BYTES_PER_CAPTURED_IO
            for one in planned
            for step, duration_ns in zip(one.apply.steps, one.durations_ns, strict=True)
            if step.capture and step.stimulus is not None
        )
    )


def _step_bytes(step: Step, duration_ns: int, interval_ns: int) -> int:
    if step.stimulus is None:
        return _BYTES_PER_INTERVAL
    weights = step.stimulus.operations
    operations = sum(bool(getattr(weights, name)) for name in weights.__struct_fields__)
    intervals = -(-duration_ns // interval_ns)
    return (intervals + 1) * (_BYTES_PER_INTERVAL + operations * _BYTES_PER_OPERATION)

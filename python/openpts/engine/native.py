"""The native engine: Rust threads with an io_uring each."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from openpts import _native
from openpts.engine.contract import EngineProgress, EngineStoppedError
from openpts.errors import EngineUnavailableError, UsageError
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import Fact, Facts, TargetFacts
from openpts.vocabulary.sample import CpuShares, DirectionSample, Interval, IoFailure, Sample, StepState
from openpts.vocabulary.stimulus import ByteAmount, Duration, Step

INTERVAL_NS = NS_PER_S


@dataclass(frozen=True, slots=True)
class Demand:
    """The largest stimulus to come: the engine makes its threads, queues and buffers for it."""

    tc: int
    qd: int
    block_size_bytes: int


class NativeEngine:
    """Implements openpts.engine.contract.Engine on an open descriptor, which it duplicates."""

    def __init__(self, descriptor: int, target: TargetFacts, demand: Demand, seed: int) -> None:
        self._target = target
        self._submitted: deque[Step] = deque()
        try:
            self._engine = _native.Engine(
                descriptor,
                capacity_bytes=target.user_capacity_bytes,
                sector_bytes=target.sector_bytes,
                tc=demand.tc,
                qd=demand.qd,
                block_size_bytes=demand.block_size_bytes,
                seed=seed,
                interval_ns=INTERVAL_NS,
            )
        except _native.UnavailableError as error:
            raise EngineUnavailableError(
                f"{error}. openpts needs Linux 5.11 or later with io_uring allowed: look at "
                "`sysctl kernel.io_uring_disabled` and at the seccomp profile of the container"
            ) from error

    @property
    def facts(self) -> Facts:
        """Engine, build and what the kernel gave the rings."""
        build = _native.build_info()
        source = "openpts._native"
        return {
            "engine": Fact("native io_uring", source),
            "build": Fact(f"{build['version']} {build['profile']} {build['architecture']}", source),
            "latency": Fact("every I/O, submission to reaping, CLOCK_MONOTONIC", source),
            **{
                name: Fact("yes" if given else "no", "io_uring set-up")
                for name, given in sorted(self._engine.features().items())
            },
        }

    def submit(self, steps: Sequence[Step]) -> None:
        """See the contract."""
        program = msgspec.json.encode([self._program_step(step) for step in steps]).decode()
        try:
            self._engine.submit(program)
        except ValueError as error:
            raise UsageError(str(error)) from error
        except _native.StoppedError as error:
            raise EngineStoppedError(str(error)) from error
        self._submitted.extend(steps)

    def poll(self, timeout_s: float) -> Sample | None:
        """See the contract."""
        try:
            result = self._engine.poll(timeout_s)
        except _native.StoppedError as error:
            raise EngineStoppedError(str(error)) from error
        return _sample(self._submitted.popleft(), result) if result else None

    def progress(self) -> EngineProgress:
        """See the contract."""
        return EngineProgress(*self._engine.progress())

    def stop(self) -> None:
        """See the contract."""
        self._engine.stop()

    def _program_step(self, step: Step) -> dict[str, object]:
        stimulus = step.stimulus
        start, end = stimulus.active_range.bytes_of(
            self._target.user_capacity_bytes, self._target.sector_bytes
        )
        return {
            "stimulus": {
                "access_pattern": stimulus.access_pattern,
                "block_size_bytes": stimulus.block_size_bytes,
                "read_pct": stimulus.read_pct,
                "tc": stimulus.tc,
                "qd": stimulus.qd,
                "range_start_bytes": start,
                "range_end_bytes": end,
            },
            "stop": _stop_rule(step.stop),
        }


def _stop_rule(stop: Duration | ByteAmount) -> dict[str, int]:
    if isinstance(stop, Duration):
        return {"duration_ns": stop.duration_ns}
    return {"amount_bytes": stop.amount_bytes}


def _sample(step: Step, result: _native.StepResult) -> Sample:
    return Sample(
        step=step,
        state=StepState(result.state),
        started_ns=result.started_ns,
        elapsed_ns=result.elapsed_ns,
        gap_ns=result.gap_ns,
        read=_direction(result.read),
        write=_direction(result.write),
        interval_ns=INTERVAL_NS,
        intervals=tuple(Interval(index, *counts) for index, counts in enumerate(result.intervals)),
        cpu=CpuShares(*result.cpu) if result.cpu else None,
        failure=IoFailure(*result.failure) if result.failure else None,
    )


def _direction(direction: _native.Direction) -> DirectionSample:
    return DirectionSample(
        ios=direction.ios,
        bytes=direction.bytes,
        latency_sum_ns=direction.latency_sum_ns,
        latency_min_ns=direction.latency_min_ns,
        latency_max_ns=direction.latency_max_ns,
        histogram=direction.histogram,
    )

"""The live driver with everything around it that a test wants to look at, and a short script for it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from openpts.device.purge.methods import Progress
from openpts.gauge import Gauge
from openpts.record.reader import read_run
from openpts.record.spooling_writer import SpoolingWriter
from openpts.record.writer import RunWriter
from openpts.runner.driver import Driver
from openpts.runner.script_runner import ScriptRunner
from openpts.runner.telemetry import Sampler
from openpts.vocabulary.facts import HealthReading, PurgeReport, WriteCacheReport
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.sample import Phase, Sample, StepPlace, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts.vocabulary.verdict import Deviation
from tests.support.record_parts import first_test, manifest
from tests.support.scripted_engine import ScriptedEngine, complete

if TYPE_CHECKING:
    from openpts.runner.events import Event
    from openpts.runner.preparation import Preparation

PURGE = PurgeReport(True, "discard", "all LBAs", "2026-11-20T22:00:00+00:00", 1, 64, 64)
HEALTH = HealthReading("a log", {"temperature_c": 40.5, "host_write_bytes": 2.0**60})
CACHE = WriteCacheReport("WCD", "WCE", "sysfs")
DEVIATION = Deviation("PTS-CACHE-01", "3.7", "WCD", "WCE", "effect")


class GivenPreparation:
    def __init__(self, happened: list[str], sampler: Sampler, purge_error: Exception | None = None) -> None:
        self.happened, self.sampler, self.purge_error = happened, sampler, purge_error
        self.alone_while_purged: list[bool] = []
        self.faults: list[str | None] = []
        self.sector_bytes = 512

    def fault(self) -> str | None:
        """The next of those given; the last one stays, as the device is asked again."""
        return None if not self.faults else self.faults.pop(0) if len(self.faults) > 1 else self.faults[0]

    def purge(self, progress: Progress) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        self.happened.append("purge")
        self.alone_while_purged.append(self.sampler.leave_drive_alone)
        if self.purge_error:
            raise self.purge_error
        return PURGE, ()

    def write_cache(self, required_enabled: bool) -> tuple[WriteCacheReport, tuple[Deviation, ...]]:
        self.happened.append(f"cache {required_enabled}")
        return CACHE, (DEVIATION,)

    def cache_since(self, report: WriteCacheReport) -> tuple[Deviation, ...]:
        assert report == CACHE
        self.happened.append("cache looked at")
        return ()


def step(block_size_bytes: int) -> Step:
    stimulus = Stimulus.of(AccessPattern.RANDOM, block_size_bytes, 0, 1, 1, ActiveRange())
    return Step.of(stimulus, Duration.seconds(1))


def block_size(running: Step) -> int:
    return running.stimulus.block_size_bytes


FINISHED = CycleFinished(Outcome(None, 2), "SEQ 128 KiB")


def short_test() -> Script:
    yield Purge()
    yield SetWriteCache(False)
    samples = yield Apply(Phase.WIPC, 1, (step(131072),))
    assert samples is not None
    assert len(samples) == 1
    for number in (1, 2):
        samples = yield Apply(Phase.ROUND, number, (step(4096), step(512)), 2)
        assert samples is not None
        assert [block_size(s.step) for s in samples] == [4096, 512]
    yield FINISHED


class Bench:
    """A driver with everything around it that a test wants to look at."""

    def __init__(
        self,
        folder: Path,
        engine: ScriptedEngine,
        purge_error: Exception | None = None,
        reserve_bytes: int = 4096,
        gauges: Sequence[Gauge] = (),
    ) -> None:
        self.folder, self.engine = folder, engine
        self.events: list[Event] = []
        self.writer = SpoolingWriter(RunWriter.create(folder, manifest()), reserve_bytes)
        sampler = Sampler(gauges, period_s=0.001)
        self.preparation = GivenPreparation(engine.happened, sampler, purge_error)
        self.driver = ScriptRunner(
            engine,
            cast("Preparation", self.preparation),
            self.writer,
            self.events.append,
            lambda: HEALTH,
            sampler,
            Driver(first_test()),
        )

    def steps(self) -> list[tuple[StepPlace, StepState]]:
        return [(s.place, s.sample.state) for s in read_run(self.folder).steps]


def wipc(state: StepState = StepState.COMPLETE) -> tuple[StepPlace, StepState]:
    return StepPlace(1, Phase.WIPC, 1, 0), state


def in_round(
    number: int, position: int, state: StepState = StepState.COMPLETE
) -> tuple[StepPlace, StepState]:
    return StepPlace(1, Phase.ROUND, number, position), state


@pytest.fixture
def bench(tmp_path) -> Callable[..., Bench]:
    def make(outcome: Callable[[Step], Sample] = complete, **options: Any) -> Bench:
        return Bench(tmp_path / "run", ScriptedEngine(outcome), **options)

    return make

"""Runs that never were: scripts played on made-up rates, with the manifest of a perfect host."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.fields.conditions import Conditions
from openpts.procedures.registry import PROCEDURES
from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.command_run import (
    CommandRequest,
    CommandRun,
    DeviceCounts,
    FileSystemReport,
    PrepareFileSystem,
    RunKind,
)
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import (
    CaptureReport,
    Fact,
    People,
    PurgeReport,
    TargetFacts,
    TargetKind,
    WriteCacheReport,
)
from openpts.vocabulary.power import (
    Cut,
    CutPower,
    DataLoss,
    PowerSetting,
    PowerState,
    PowerStatesSet,
    SetPowerStates,
    Transition,
)
from openpts.vocabulary.requests import (
    Answer,
    Apply,
    CycleFinished,
    Purge,
    ReadHealth,
    ReadTrimmed,
    Request,
    Script,
    SetWriteCache,
)
from openpts.vocabulary.sample import (
    NOTHING,
    CpuShares,
    IoFailure,
    OperationSample,
    Phase,
    Sample,
    StepPlace,
    StepState,
)
from openpts.vocabulary.stimulus import Stimulus
from openpts.vocabulary.trimmed_reads import Promise, TrimLimits, TrimmedReads
from tests.support.interval_samples import interval_of
from tests.support.player import Drive, Health, Rate
from tests.support.subject_files import with_subject

CAPACITY_BYTES = 256 * 2**30
HOST = ("system", "motherboard", "cpu", "memory", "hba", "interposer", "primary_storage", "peripherals")
DUT = ("file_system", "manufacturer", "model", "serial", "firmware", "interface", "form_factor", "nand_type")
_BY_DEMAND = {"cbw", "dirth"}
Adjust = Callable[[Conditions], Conditions]


def demand_rate(stimulus: Stimulus, _phase: Phase, _number: int) -> float:
    """Grows with the demand until 16 are outstanding, so that there is a plateau and something before it."""
    return 1000.0 * min(stimulus.toio, 16)


def flat_rate(_stimulus: Stimulus, _phase: Phase, _number: int) -> float:
    """The same for everything."""
    return 20_000.0


def telling_rate(stimulus: Stimulus, phase: Phase, number: int) -> float:
    """Other for each size, mix and wait state: no figure can stand in for another. Level in rounds."""
    gain = 100 * number if phase is Phase.WAIT_STATE else 0
    return 2e9 * (1 + stimulus.read_pct / 100) / (stimulus.block_size_bytes + 96_000) + gain


def restless_rate(_stimulus: Stimulus, _phase: Phase, number: int) -> float:
    """Twice as much in every other round: never steady."""
    return 20_000.0 * (1 + number % 2)


def telling_run(name: str) -> Run:
    """A whole run whose figures differ from each other."""
    return made_up_run(name, rate=None if name in _BY_DEMAND else telling_rate)


def made_up_run(
    name: str,
    drive_class: DriveClass = DriveClass.ENTERPRISE,
    *,
    rate: Rate | None = None,
    drive: Drive | None = None,
    health: Health | None = None,
    adjust: Adjust | None = None,
) -> Run:
    """A whole run of a test on a raw device, as its script wants it; at a rate of this module made once."""
    if drive is None and health is None and adjust is None and rate in _KEPT:
        return _kept_run(name, drive_class, rate)
    return _made_run(name, drive_class, rate, drive, health, adjust)


_KEPT = {None, flat_rate, telling_rate, restless_rate}


@cache
def _kept_run(name: str, drive_class: DriveClass, rate: Rate | None) -> Run:
    return _made_run(name, drive_class, rate, None, None, None)


def _made_run(
    name: str,
    drive_class: DriveClass,
    rate: Rate | None,
    drive: Drive | None,
    health: Health | None,
    adjust: Adjust | None,
) -> Run:
    test = PROCEDURES[name]
    conditions = with_subject(test.standard_conditions(drive_class, 1))
    conditions = conditions if adjust is None else adjust(conditions)
    drive = drive or Drive(CAPACITY_BYTES, rate or (demand_rate if name in _BY_DEMAND else flat_rate))
    drive = drive if health is None else replace(drive, health=health)
    requests, steps, health = _play(test.script(conditions, CAPACITY_BYTES), drive)
    return Run(
        folder=Path("made-up"),
        manifest=replace(
            _manifest(conditions),
            purges=tuple(_PURGE for request in requests if isinstance(request, Purge)),
            write_caches=tuple(
                WriteCacheReport(_cache(request.enabled), _cache(request.enabled), "NVMe Get Features, 06h")
                for request in requests
                if isinstance(request, SetWriteCache)
            ),
            capture=CaptureReport("capture", files=3, ios=10**6) if name in _BY_DEMAND else None,
            cycles=tuple(request for request in requests if isinstance(request, CycleFinished)),
            trimmed=_TRIMMED if any(isinstance(request, ReadTrimmed) for request in requests) else None,
            file_systems=tuple(
                _FILE_SYSTEM for request in requests if isinstance(request, PrepareFileSystem)
            ),
            command_runs=tuple(_command(one) for one in requests if isinstance(one, CommandRequest)),
            cuts=tuple(_cut(request) for request in requests if isinstance(request, CutPower)),
            power_states=tuple(
                dict.fromkeys(_power_states(one) for one in requests if isinstance(one, SetPowerStates))
            ),
        ),
        steps=tuple(steps),
        ledger=(),
        health=tuple(health),
        zero_at=datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC),
    )


def with_samples(run: Run, change: Callable[[StepRecord], Sample]) -> Run:
    """The run with the samples that ``change`` makes of its steps."""
    return replace(run, steps=tuple(replace(step, sample=change(step)) for step in run.steps))


def ended_after(run: Run, whole: int, state: StepState | None = StepState.INTERRUPTED) -> Run:
    """The run as if it had ended in the step behind so many whole ones, or before it if ``state`` is None."""
    steps = run.steps[:whole]
    if state is not None:
        steps = (*steps, replace(run.steps[whole], sample=_a_third(run.steps[whole].sample, state)))
    begun = steps[-1].place.cycle if steps else 0
    finished = sum(
        not any(step.place.cycle == cycle for step in run.steps[whole:]) for cycle in range(1, begun + 1)
    )
    manifest = replace(
        run.manifest,
        purges=run.manifest.purges[:begun],
        write_caches=run.manifest.write_caches[:begun],
        cycles=run.manifest.cycles[:finished],
        state=RunState.FAILED if state is StepState.FAILED else RunState.INTERRUPTED,
        state_reason="stopped by the operator",
    )
    return replace(run, steps=steps, manifest=manifest)


def _a_third(sample: Sample, state: StepState) -> Sample:
    elapsed_ns = sample.elapsed_ns // 3
    failure = IoFailure("write", 81_920, 4096, "Input/output error (EIO)")
    return replace(
        sample,
        state=state,
        ended_by=None,
        elapsed_ns=elapsed_ns,
        read=_between(sample.read, sample.elapsed_ns, 0, elapsed_ns),
        write=_between(sample.write, sample.elapsed_ns, 0, elapsed_ns),
        intervals=tuple(
            one for one in sample.intervals if (one.index + 1) * sample.interval_ns <= elapsed_ns
        ),
        failure=failure if state is StepState.FAILED else None,
    )


def with_intervals(run: Run, interval_ns: int) -> Run:
    """Each step with intervals among which its I/Os are shared out evenly."""

    def of(step: StepRecord) -> Sample:
        sample = step.sample
        ends_ns = [*range(interval_ns, sample.elapsed_ns, interval_ns), sample.elapsed_ns]
        intervals = tuple(
            interval_of(
                index,
                elapsed_ns=end_ns - begin_ns,
                read=_between(sample.read, sample.elapsed_ns, begin_ns, end_ns),
                write=_between(sample.write, sample.elapsed_ns, begin_ns, end_ns),
                in_flight=sample.step.stimulus.toio if sample.step.stimulus else 0,
                cpu=sample.cpu,
            )
            for index, (begin_ns, end_ns) in enumerate(pairwise([0, *ends_ns]))
        )
        return replace(sample, interval_ns=interval_ns, intervals=intervals)

    return with_samples(run, of)


def _between(of: OperationSample, elapsed_ns: int, begin_ns: int, end_ns: int) -> OperationSample:
    """What was done of it from one moment to another, in whole numbers that add up."""
    ios, moved_bytes, sum_ns = (
        whole * end_ns // elapsed_ns - whole * begin_ns // elapsed_ns
        for whole in (of.ios, of.bytes, of.latency_sum_ns)
    )
    if not ios:
        return NOTHING
    histogram = encode_counts([(of.latency_min_ns, ios)])
    return replace(of, ios=ios, bytes=moved_bytes, latency_sum_ns=sum_ns, histogram=histogram)


_READ_AT = "2026-01-01T00:00:00.000+00:00"
_TRIMMED = TrimmedReads(
    Promise.ZEROS,
    "NVMe DLFEAT 0x9",
    TrimLimits(256 * 2**20, 2**31, 64 * 2**10, "/sys/block/nvme9n1/queue/discard_*"),
    advisory=True,
    sectors=32_768,
    zeros=32_768,
)
_PURGE = PurgeReport(True, "NVMe Format", "user data erase", "2026-01-01T00:00:00Z", 10**9, 64, 64)


_FILE_SYSTEM = FileSystemReport(
    device="/dev/nvme9n1",
    directory="/run/openpts-app-made-up",
    type="ext4",
    options="rw,relatime",
    made_by="mkfs.ext4 /dev/nvme9n1",
    capacity_bytes=250 * 2**30,
    used_pct=50.0,
    filled_bytes=125 * 2**30,
    trim="125 GiB trimmed",
)


def _command(order: CommandRequest) -> CommandRun:
    """Twice as long with a cold cache; a little longer with each warm run."""
    is_cold = order.kind is RunKind.COLD
    elapsed_ns = 2 * 10**9 if is_cold else 10**9 + order.number * 10**7
    return CommandRun(
        kind=order.kind,
        number=order.number,
        attempt=1,
        started_at=_READ_AT,
        elapsed_ns=elapsed_ns,
        status=0,
        page_cache="dropped" if is_cold else "left as it was",
        cold=is_cold,
        user_ns=elapsed_ns // 20,
        system_ns=elapsed_ns // 10,
        process_read_bytes=2**30 if is_cold else 0,
        process_written_bytes=2**20,
        io_stall_ns=elapsed_ns // 2,
        until_exit=DeviceCounts(8192, 2**30, 16, 2**20, 0, 0, 4, elapsed_ns * 9 // 10, elapsed_ns * 3),
        synced=DeviceCounts(writes=3, written_bytes=12_288),
        sync_ns=5 * 10**6,
        outputs=(f"output/{order.kind}-{order.number}.out",),
        figure=None if order.figure is None else 512.5 + order.number,
    )


def _cut(request: CutPower) -> Cut:
    """The first cut in each state of the cache loses a write."""
    enabled = request.write_cache_enabled
    accusations = (DataLoss("lost-write", 8, 8, "write 99", "write 7", "8 sectors from LBA 8"),)
    is_bad = request.apply.number % 50 == 1
    return Cut(
        number=request.apply.number,
        write_cache=_cache(enabled),
        volatile=enabled,
        atomic_bytes=4096,
        atomic_source="AWUPF 7",
        away_ns=5 * 10**9,
        first_read_ns=400_000_000 + request.apply.number * 10**6,
        writes=1000,
        flushes=30,
        promised=900,
        outstanding=32,
        losses={"lost-write": 1} if is_bad else {},
        accusations=accusations if is_bad else (),
    )


def _power_states(request: SetPowerStates) -> PowerStatesSet:
    """Two states, the second of which is entered after 100 ms."""
    states = (
        PowerState(0, operational=True, most_w=8.0, idle_w=2.0),
        PowerState(1, operational=False, idle_w=0.005, entry_ns=10**6, exit_ns=10**7),
    )
    setting = PowerSetting(0, autonomous=True, table=(Transition(0, 1, 10**8),))
    return PowerStatesSet(request.mode, request.state, "made up", states, setting, processors="made up")


_ANSWERS: dict[type, Callable[[Any], Answer]] = {
    CutPower: _cut,
    CommandRequest: _command,
    SetPowerStates: _power_states,
}
"""What drivers answer."""


def _cache(enabled: bool) -> str:
    return "WCE" if enabled else "WCD"


def _manifest(conditions: Conditions) -> Manifest:
    return Manifest(
        test_id="MADE-UP",
        command_line=("openpts",),
        conditions=conditions,
        people=People("A. Operator", "An Auditor", "A Sponsor"),
        target=TargetFacts(TargetKind.BLOCK, "nvme9n1", "/dev/nvme9n1", CAPACITY_BYTES, 512),
        dut={key: Fact(key, "made up") for key in (*DUT, "features")},
        host={key: Fact(key, "made up") for key in (*HOST, "operating_system")},
        software={"test_software": Fact("openpts", "made up")},
        started_at="2026-01-01T00:00:00Z",
        state=RunState.COMPLETE,
    )


def _play(script: Script, drive: Drive) -> tuple[list[Request], list[StepRecord], list[HealthRecord]]:
    """Every request, and what the record would have of it: steps one behind the other, with short gaps."""
    requests: list[Request] = []
    steps: list[StepRecord] = []
    health: list[HealthRecord] = []
    answer: Answer = None
    cycle, now_ns = 0, 0
    while True:
        try:
            request = script.send(answer)
        except StopIteration:
            return requests, steps, health
        requests.append(request)
        answer = None
        cycle += isinstance(request, Purge)
        if isinstance(request, ReadHealth):
            answer = drive.health(request.phase, request.number)
            health.append(
                HealthRecord(
                    ReadingPoint.DURING, cycle, request.phase, request.number, _READ_AT, now_ns, answer
                )
            )
        if type(request) in _ANSWERS:
            answer = _ANSWERS[type(request)](request)
        if not isinstance(request, Apply):
            continue
        samples: list[Sample] = []
        for position, step in enumerate(request.steps):
            sample = replace(
                drive.sample(request.phase, request.number, step),
                started_ns=now_ns,
                gap_ns=1_000_000,
                cpu=CpuShares(1, 2, 3, 10**6),
                **_counts(step.stimulus),
            )
            samples.append(sample)
            place = StepPlace(max(1, cycle), request.phase, request.number, position)
            steps.append(StepRecord(place, sample, behind=len(steps)))
            now_ns += sample.elapsed_ns
        answer = tuple(samples)


def _counts(stimulus: Stimulus | None) -> dict[str, tuple[int, ...]]:
    """Counts that follow the weights exactly."""
    if stimulus is None or len(stimulus.block_sizes) == 1:
        return {}
    zones = getattr(stimulus.placement, "zones", ())
    return {
        "ios_by_block_size": tuple(1000 * size.weight for size in stimulus.block_sizes),
        "ios_by_zone": tuple(1000 * zone.weight for zone in zones),
    }

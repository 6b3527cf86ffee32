"""Loads of all kinds: the engine issues what a host in virtual time does, and both do what is known.

The engine's target is memory of this process: no drive is touched, and what was written can be read. The host
in virtual time draws its I/Os by the same code, but paces them by its own.
"""

import json
import os
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from openpts.analysis.latency import LatencyDistribution
from openpts.engine.contract import CapturingEngine
from openpts.engine.native import NativeEngine
from openpts.engine.options import CaptureSettings, Demand, NativeOptions
from openpts.errors import RunFailedError
from openpts.temporary_folder import temporary_folder
from openpts.units import GIB, KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import Sample, StreamSample
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    Burst,
    Capped,
    CapUnit,
    ClosedLoop,
    Duration,
    DutyCycle,
    FixedRate,
    IoCount,
    Poisson,
    Steady,
    Step,
    Stimulus,
    ThinkTime,
    VerifiedData,
)
from openpts_compare.selftest.finding import Expectations, SelfTestFinding
from openpts_compare.selftest.known_answers import digest
from openpts_compare.selftest.known_delays import (
    SEED,
    TICK_NS,
    CapturedIo,
    captured_in,
    engine_on,
    judge_length,
    judge_sample,
)
from openpts_sim.presets import Preset
from openpts_sim.simulated_engine import SimulatedDrive

ANSWERS: Final = Path(__file__).with_name("known_loads.json")
_LAW: Final = """\
name = "known-loads"
summary = "A script, for known loads: response times by a law"
capacity_bytes = 16_777_216

[oracle.rate]
by = "steps"
every = 1
iops = [inf]

[oracle.latency]
period = 1000
factor = 617
law = [
  { below = 700, ns = 100_000 },
  { below = 900, ns = 400_000 },
  { below = 990, ns = 1_000_000 },
  { below = 1000, ns = 2_000_000 },
]
"""
_BYTES: Final = 8 * GIB
_SECTOR: Final = 512
_DEMAND: Final = Demand(tc=4, qd=8, block_size_bytes=16 * KIB)
_INTERVAL_NS: Final = 10 * NS_PER_MS
_STIMULUS: Final = {
    "random_pct": 100,
    "block_sizes": [{"block_size_bytes": 4096}],
    "operations": {"read": 1},
    "tc": 1,
    "qd": 1,
    "active_range": {"start_pct": 50, "end_pct": 100},
}
_DAMAGED_SECTORS: Final = 20
_PATIENCE_S: Final = 30.0
_FEW: Final = 1000


def loads() -> dict[str, tuple[Step, ...]]:
    """Steps of each load, all captured."""
    listed = tomllib.loads(Path(__file__).with_name("known_loads.toml").read_text())
    return {
        name: msgspec.convert([_step(**step) for step in steps], tuple[Step, ...])
        for name, steps in listed.items()
    }


def _step(
    *, ios: int = 0, stop: Any = None, ramp_ns: int = 0, streams: Any = None, **stimulus: Any
) -> dict[str, Any]:
    """What the list says of a step, as a step: it has one stream, unless it lists some."""
    streams = [
        {**stream, "stimulus": _STIMULUS | stream["stimulus"]}
        for stream in streams or [{"stimulus": stimulus}]
    ]
    stop = stop or {"type": "io_count", "ios": ios}
    return {"streams": streams, "stop": stop, "ramp_ns": ramp_ns, "capture": True}


def check(folder: Path) -> SelfTestFinding:
    """Each load in virtual time, and by the engine, up to the first that is not as it has to be.

    Captures are below ``folder``. Raises EngineUnavailableError where there is no io_uring.
    """
    found, wanted = Expectations(), known()
    for name, steps in loads().items():
        own = Expectations()
        answers = answers_of(name, steps, folder, own)
        own.equal("digests that are not as known", answers, wanted.get(name))
        for fault in own.faults:
            found.holds(f"{name}: {fault}", holds=False)
        if own.faults:
            break
    else:
        found.equal("faults of data that are found", damage(), wanted["damage"])
    text = f"{len(wanted)} loads by the engine, on memory, and in virtual time"
    return found.finding("loads", text, {"loads": float(len(wanted))})


def known() -> dict[str, dict[str, str]]:
    """Known digests, by the load and by what they are of."""
    return msgspec.json.decode(ANSWERS.read_bytes(), type=dict[str, dict[str, str]])


def all_answers(folder: Path) -> dict[str, dict[str, str]]:
    """The answers of all loads, as they are now."""
    found = {name: answers_of(name, steps, folder, Expectations()) for name, steps in loads().items()}
    return found | {"damage": damage()}


def answers_of(name: str, steps: Sequence[Step], folder: Path, found: Expectations) -> dict[str, str]:
    """Digests of a load's figures in virtual time, of its I/Os, and of what the engine wrote; what is not as
    it has to be goes into ``found``.
    """
    place = folder / f"{name}-virtual"
    samples = samples_of(_drive().engine(_DEMAND, SEED, _options(place)), steps)
    ios = captured_in(place)
    issued = sorted((io.operation, io.offset_bytes, io.length_bytes) for io in ios)
    figures = [{**msgspec.to_builtins(sample), "step": "", "carried": ""} for sample in samples]
    answers = {"figures": digest(figures), "ios": digest(issued)}
    if not any(isinstance(step.stop, Steady) for step in steps):
        with _memory(_BYTES) as memory:
            place = folder / f"{name}-engine"
            measured = samples_of(_engine(memory, _SECTOR, _options(place)), steps)
            own = captured_in(place)
            if all(stimulus.random_pct == 0 for step in steps for stimulus in step.stimuli):
                written = sorted({io for io in issued if io[0] == "write"})
                answers["content"] = digest([os.pread(memory, io[2], io[1]) for io in written])
        if not any(isinstance(step.stop, Duration) or step.ramp_ns for step in steps):
            found.equal("I/Os of the engine", _counts(measured), _counts(samples))
            places = sorted((io.operation, io.offset_bytes, io.length_bytes) for io in own)
            if any(isinstance(stimulus.pacing, Poisson) for step in steps for stimulus in step.stimuli):
                answers["engine"] = digest(places)  # it draws moments and places in another order
            else:
                found.equal("places", digest(places), answers["ios"])
                _judge_moments(found, steps, own, ios)
        if len(steps) == 1:
            _judge_step(found, steps[0], measured[0], own)
    return answers


def _drive() -> SimulatedDrive:
    """New from its maker; of 1,000 I/Os in a row so many take so long."""
    return SimulatedDrive(Preset(_LAW), path="sim:law", capacity_bytes=_BYTES, scale=1, seed=SEED)


def samples_of(engine: CapturingEngine, steps: Sequence[Step]) -> list[Sample]:
    """A sample of each step. Raises RunFailedError if the engine gives none."""
    engine.submit(steps)
    samples = [sample for _ in steps if (sample := engine.poll(_PATIENCE_S)) is not None]
    engine.finish()
    if len(samples) < len(steps):
        raise RunFailedError("the engine gave no sample")
    return samples


def _options(place: Path) -> NativeOptions:
    return NativeOptions(interval_ns=_INTERVAL_NS, capture=CaptureSettings(place, _SECTOR))


def _engine(memory: int, sector_bytes: int, options: NativeOptions) -> NativeEngine:
    return engine_on(memory, os.fstat(memory).st_size, _DEMAND, options, sector_bytes)


@contextmanager
def _memory(size_bytes: int) -> Iterator[int]:
    """A file that is memory only, without a name."""
    memory = os.memfd_create("openpts-known-loads", os.MFD_CLOEXEC)
    try:
        os.ftruncate(memory, size_bytes)
        yield memory
    finally:
        os.close(memory)


def _counts(samples: Sequence[Sample]) -> list[Any]:
    """What no drive and no pacing changes."""
    found: list[Any] = []
    for sample in samples:
        found.append((sample.state, sample.ended_by, sample.errors))
        parts: tuple[Sample | StreamSample, ...] = (sample, *sample.streams)
        for part in parts:
            done = [(one.ios, one.bytes) for one in part.operations.values()]
            found.append((part.ios_by_block_size, part.ios_by_zone, done))
    return found


def _judge_moments(
    found: Expectations, steps: Sequence[Step], own: Sequence[CapturedIo], other: Sequence[CapturedIo]
) -> None:
    """Planned moments are those in virtual time; as many I/Os are outstanding as there."""
    stimulus = steps[0].stimulus
    if stimulus is None or len(steps) > 1:
        return
    if isinstance(stimulus.pacing, FixedRate | Burst):
        lates_ns = [
            (one.submitted_ns - own[0].submitted_ns) - (two.submitted_ns - other[0].submitted_ns)
            for one, two in zip(own, other, strict=False)
        ]
        found.holds("moments are not as planned", max(map(abs, lates_ns)) <= TICK_NS)
    elif isinstance(stimulus.pacing, ClosedLoop):
        most = most_outstanding(own)
        if stimulus.tc == 1:
            found.equal("most outstanding", most, most_outstanding(other))
        found.holds(f"{most} outstanding of {stimulus.toio}", most <= stimulus.toio)


def most_outstanding(ios: Sequence[CapturedIo]) -> int:
    """The largest number of I/Os that were not answered at the same time."""
    changes = sorted([(io.completed_ns, -1) for io in ios] + [(io.submitted_ns, 1) for io in ios])
    now, most = 0, 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def _judge_step(found: Expectations, step: Step, sample: Sample, ios: Sequence[CapturedIo]) -> None:
    """The figures of a step against its I/Os, and its pacing, which other work on the host can only delay."""
    stimulus = step.stimulus
    if step.ramp_ns and isinstance(step.stop, IoCount):  # planned from the step's start on
        ramp_end_ns = ios[0].submitted_ns + step.ramp_ns
        ios = [io for io in ios if io.completed_ns >= ramp_end_ns]
        lasted_ns = max((io.completed_ns for io in ios), default=ramp_end_ns) - ramp_end_ns
        found.near("time after the ramp-up (ns)", sample.elapsed_ns, lasted_ns, 2 * TICK_NS)
        found.holds("ended before its I/Os were done", sample.ios >= step.stop.ios)
    judge_sample(found, sample, ios)
    if stimulus is None or not ios:
        return
    moves_data_only = sample.ios == sample.read.ios + sample.write.ios and not sample.flush.ios
    if isinstance(step.stop, Duration):
        found.holds("ended before its time", sample.elapsed_ns >= step.stop.duration_ns)
    elif moves_data_only and not step.ramp_ns and isinstance(stimulus.pacing, ClosedLoop | FixedRate):
        judge_length(found, sample, ios)
    _judge_pacing(found, step, sample, ios)


def _judge_pacing(found: Expectations, step: Step, sample: Sample, ios: Sequence[CapturedIo]) -> None:
    (stimulus,) = step.stimuli
    origin_ns = max(io.completed_ns for io in ios) - sample.elapsed_ns
    match stimulus.pacing:
        case FixedRate() if not step.ramp_ns and isinstance(step.stop, IoCount):
            lengths_ns = sum(interval.elapsed_ns for interval in sample.intervals)
            found.equal("length of all intervals (ns)", lengths_ns, sample.elapsed_ns)
            slips = LatencyDistribution.merged([sample.slips]).count
            found.equal("planned I/Os and their slips", slips, sample.ios)
        case FixedRate(ios_per_s) if isinstance(step.stop, Duration):
            planned = -(-step.stop.duration_ns * ios_per_s // NS_PER_S)
            found.equal("I/Os done and not issued", sample.ios + sample.unissued, planned)
            slip_ns = LatencyDistribution.merged([sample.slips]).percentile_ns(50) or 0
            waited_ns = LatencyDistribution.merged([sample.read.histogram]).percentile_ns(50) or 0
            few = sample.ios < _FEW  # of a thread that had no processor all tell of that alone
            found.holds("waits for room are the thread's own", few or slip_ns < waited_ns / 4)
        case ThinkTime(think_ns):
            rests_ns = [later.submitted_ns - io.completed_ns for io, later in pairwise(ios)]
            found.holds("thought too short", min(rests_ns) >= think_ns - 2 * TICK_NS)
        case Capped(per_s, unit):
            each = stimulus.block_size_bytes if unit is CapUnit.BYTES else 1
            turn_ns = stimulus.tc * each * NS_PER_S / per_s
            earlier_ns = (
                place // stimulus.tc * turn_ns - (io.submitted_ns - origin_ns) for place, io in enumerate(ios)
            )
            found.holds("faster than its cap", max(earlier_ns) <= 2 * TICK_NS)
        case DutyCycle(on_ns, off_ns):
            resting = sum((io.submitted_ns - origin_ns) % (on_ns + off_ns) > on_ns + TICK_NS for io in ios)
            found.holds(f"{resting} of {len(ios)} I/Os in the time of rest", resting < len(ios) / 2)


def damage() -> dict[str, str]:
    """Digests of sectors that the engine writes to be verified, and of what it finds in damaged ones."""
    sector_bytes = 4 * KIB
    whole = Stimulus.of(AccessPattern.SEQUENTIAL, 4 * sector_bytes, 0, 1, 1, ActiveRange())
    write, read, other = (
        msgspec.structs.replace(whole, operations=operations, data=VerifiedData(generation))
        for operations, generation in (
            (whole.operations, 1),
            (msgspec.structs.replace(whole.operations, read=100, write=0), 1),
            (msgspec.structs.replace(whole.operations, read=100, write=0), 2),
        )
    )
    options = NativeOptions(most_errors=1000)
    stop = IoCount(_DAMAGED_SECTORS // 4)
    with _memory(_DAMAGED_SECTORS * sector_bytes) as memory:
        engine = _engine(memory, sector_bytes, options)
        sound = samples_of(engine, [Step.of(write, stop), Step.of(read, stop)])
        content = os.pread(memory, _DAMAGED_SECTORS * sector_bytes, 0)
        sectors = [content[at : at + sector_bytes] for at in range(0, len(content), sector_bytes)]
        os.pwrite(memory, bytes([sectors[1][2000] ^ 1]), sector_bytes + 2000)
        os.pwrite(memory, sectors[2] + sectors[3], 6 * sector_bytes)
        os.pwrite(memory, bytes(sector_bytes), 9 * sector_bytes)
        engine = _engine(memory, sector_bytes, options)
        os.ftruncate(memory, (_DAMAGED_SECTORS - 2) * sector_bytes)
        damaged = samples_of(engine, [Step.of(read, stop), Step.of(other, stop)])
    found = [[sample.state, sample.ios, sample.errors, sample.failure] for sample in (*sound, *damaged)]
    return {"content": digest(content), "found": digest(msgspec.to_builtins(found))}


def main() -> None:
    """Write the known answers, after a change that is meant: a line for each load."""
    with temporary_folder("known-loads") as folder:
        rows = (f" {json.dumps(load)}: {json.dumps(of)}" for load, of in all_answers(folder).items())
        ANSWERS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

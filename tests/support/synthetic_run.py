"""Builds run folders with plausible samples of a drive that does not exist: no test measures anything.

The figures follow from a few constants and a seeded generator, so that a folder can be made again
byte for byte as far as the report can see.
"""

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from msgspec.structs import replace as with_changes

from openpts.analysis.latency import encode_counts
from openpts.record.manifest import Manifest, RunState
from openpts.record.writer import RunWriter
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import (
    FILE_CACHE,
    FILE_PURGE,
    Fact,
    Facts,
    People,
    PurgeReport,
    SimulationFacts,
    TargetFacts,
    TargetKind,
    WriteCacheReport,
)
from openpts.vocabulary.requests import CycleFinished, Outcome
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
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, ByteAmount, Duration, Step, Stimulus
from openpts.vocabulary.verdict import Deviation, TrackingVariable
from openpts_pts.iops import IopsConditions
from tests.support.interval_samples import interval_of, sample_of

READ_PCTS = (100, 95, 65, 50, 35, 5, 0)
BLOCK_SIZES = tuple(int(kib * KIB) for kib in (1024, 128, 64, 32, 16, 8, 4, 0.5))
TRACKING = (
    TrackingVariable(AccessPattern.RANDOM, 4 * KIB, 0),
    TrackingVariable(AccessPattern.RANDOM, 64 * KIB, 65),
    TrackingVariable(AccessPattern.RANDOM, 1024 * KIB, 100),
)
CAPACITY_BYTES = 1_920_383_410_176
RANGE = ActiveRange(0, 100)
TC, QD = 4, 32

HOSTILE = (
    '<script>alert(1)</script> #panic("x") $x$ `a` *b* _c_ @d </svg> "quoted" \'q\' \\ \x00\x07\x1b[31m\n\t'
    "\u202eevil\u202c =cmd|' /C calc'!A0 {{ 7*7 }} {% raw %} Grüße 測試 🚀 " + "W" * 80
)

FACTS: dict[str, Facts] = {
    "dut": {
        "manufacturer": Fact("Synthetic Drives", "configuration"),
        "model": Fact("SYN-1000 NVMe 1.92 TB", "/sys/class/nvme/nvme9/model"),
        "serial": Fact("SYN0000001", "/sys/class/nvme/nvme9/serial"),
        "firmware": Fact("SYN1.0", "/sys/class/nvme/nvme9/firmware_rev"),
        "interface": Fact("NVMe 1.4, Gen 4 x4", "id-ctrl ver, link"),
        "nand_type": Fact(None, "no standard field"),
        "form_factor": Fact("U.2", "configuration"),
        "hba": Fact("none (direct PCIe)", "sysfs"),
        "pcie": Fact("Gen 4 x4 of Gen 4 x4", "current_link_speed"),
        "file_system": Fact("none (raw block device)", "the target is a block device"),
    },
    "host": {
        "system": Fact("Synthetic Systems S-1", "/sys/class/dmi/id/product_name"),
        "motherboard": Fact("Synthetic SB-1", "/sys/class/dmi/id/board_name"),
        "cpu": Fact("Synthetic 32-core, 2 sockets, 64 threads", "/proc/cpuinfo"),
        "memory": Fact("128 GiB DDR5-4800", "/proc/meminfo, DMI type 17"),
        "operating_system": Fact("Debian GNU/Linux 12, 6.12.0", "/etc/os-release, uname"),
        "virtualization": Fact("none seen", "/proc/cpuinfo flags"),
    },
    "software": {"test_software": Fact("openpts 0.1.0", "package metadata")},
    "engine": {
        "engine": Fact("native io_uring", "openpts._native"),
        "build": Fact("0.1.0 release x86_64", "openpts._native"),
        "fixed_buffers": Fact("yes", "io_uring set-up"),
    },
}


@dataclass(frozen=True)
class Synthetic:
    """What the run shall look like; ``rounds`` are complete ones, ``extra_steps`` of one more follow.

    ``fixed_iops`` by (read_pct, block size in bytes) replaces the settling of the made-up drive.
    """

    rounds: int = 8
    steady_round: int | None = 8
    drift: float = 0.0
    noise: float = 0.008
    skip_half_kib: bool = False
    extra_steps: int = 0
    last_state: StepState = StepState.COMPLETE
    state: RunState = RunState.COMPLETE
    state_reason: str | None = None
    kind: TargetKind = TargetKind.BLOCK
    simulation: SimulationFacts | None = None
    step_s: int = 60
    max_rounds: int = 25
    precondition: bool = True
    purge: bool = True
    hostile: bool = False
    facts: bool = True
    deviations: tuple[Deviation, ...] = ()
    scale: float = 1.0
    fixed_iops: Mapping[tuple[int, int], float] | None = None


def write_synthetic_run(folder: Path, wanted: Synthetic) -> Path:
    """Write the run folder and return it."""
    conditions = _conditions(wanted)
    writer = RunWriter.create(folder, _manifest(wanted, conditions))
    writer.add_deviations(_hostile_ledger() if wanted.hostile else wanted.deviations)
    if wanted.precondition:
        writer.add_step(StepPlace(1, Phase.WIPC, 1, 0), precondition_sample(_scale(wanted)))
    for number, position, sample in _round_samples(wanted, conditions):
        writer.add_step(StepPlace(1, Phase.ROUND, number, position), sample)
    writer.close()
    return folder


def _scale(wanted: Synthetic) -> int:
    return 1 if wanted.simulation is None else wanted.simulation.scale


def _conditions(wanted: Synthetic) -> IopsConditions:
    skipped = (512,) if wanted.skip_half_kib else ()
    return IopsConditions(
        drive_class=DriveClass.ENTERPRISE,
        write_cache_enabled=False,
        active_range=RANGE,
        tc=TC,
        qd=QD,
        precondition_block_size_bytes=128 * KIB,
        precondition_passes=2.0,
        read_pcts=READ_PCTS,
        block_sizes_bytes=tuple(size for size in BLOCK_SIZES if size not in skipped),
        skipped_block_sizes_bytes=skipped,
        minute_ns=wanted.step_s * NS_PER_S,
        max_rounds=wanted.max_rounds,
        tracking=TRACKING,
        seed=42,
    )


def _manifest(wanted: Synthetic, conditions: IopsConditions) -> Manifest:
    outcome = Outcome(wanted.steady_round, wanted.rounds)
    facts = {room: _hostile_facts(room) for room in FACTS} if wanted.hostile else FACTS
    facts = facts if wanted.facts else {room: {} for room in FACTS}
    text = HOSTILE if wanted.hostile else None
    is_file = wanted.kind is TargetKind.FILE
    cache = FILE_CACHE if is_file else text or "WCD"
    return Manifest(
        test_id=text or "SYN1-20250114T081100Z-iops",
        command_line=("openpts", "run", "iops", text or "/dev/nvme9n1"),
        conditions=conditions,
        people=People(text, text, text) if text else People("A. Operator"),
        target=TargetFacts(
            wanted.kind,
            text or "nvme9n1",
            text or "/dev/nvme9n1",
            CAPACITY_BYTES,
            4096 if wanted.skip_half_kib else 512,
            wanted.simulation,
        ),
        dut=facts["dut"],
        host=facts["host"],
        software=facts["software"],
        engine=facts["engine"],
        started_at="2025-01-14T08:11:00Z",
        shortened=wanted.step_s < 60,
        purges=(with_changes(purge_report(text), name=FILE_PURGE if is_file else ""),)
        if wanted.purge
        else (),
        write_caches=(WriteCacheReport("WCD", cache, text or "NVMe feature 06h"),) if wanted.facts else (),
        ended_at=None if wanted.state is RunState.RUNNING else "2025-01-14T15:02:00Z",
        state=wanted.state,
        state_reason=text or wanted.state_reason,
        cycles=(CycleFinished(outcome),) if wanted.state is RunState.COMPLETE else (),
    )


def purge_report(text: str | None = None) -> PurgeReport:
    """A purge that was proven; ``text`` stands for all that a device said of it."""
    method, detail = text or "NVMe Format, SES=1", text or "nvme format -s1"
    return PurgeReport(True, method, detail, "2025-01-14T08:11:05Z", 21 * NS_PER_S, 64, 64)


def _hostile_facts(room: str) -> Facts:
    return {**{key: Fact(HOSTILE, HOSTILE) for key in FACTS[room]}, HOSTILE: Fact(HOSTILE, HOSTILE)}


def _hostile_ledger() -> tuple[Deviation, ...]:
    return (Deviation(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),)


def _round_samples(wanted: Synthetic, conditions: IopsConditions) -> Iterator[tuple[int, int, Sample]]:
    generator = random.Random(1)
    points = [(r, b) for r in conditions.read_pcts for b in conditions.block_sizes_bytes]
    for number in range(1, wanted.rounds + 2):
        count = len(points) if number <= wanted.rounds else wanted.extra_steps
        for position, (read_pct, size) in enumerate(points[:count]):
            fresh = 1 + 1.9 * (1 - read_pct / 140) * math.exp(-(number - 1) / 0.75)
            drift = 1 - wanted.drift * number
            noise = 1 + generator.gauss(0, wanted.noise)
            iops = plausible_iops(read_pct, size) * fresh * drift * noise * wanted.scale
            if wanted.fixed_iops is not None:
                iops = wanted.fixed_iops[read_pct, size]
            sample = step_sample(size, read_pct, iops, wanted.step_s, each_stands_for=_scale(wanted))
            is_last = number > wanted.rounds and position == count - 1
            if is_last and wanted.last_state is not StepState.COMPLETE:
                sample = _ended_early(sample, wanted)
            gap_ns = 61_300_000 if (number, position) == (1, 0) else generator.randrange(400_000, 2_600_000)
            yield number, position, with_changes(sample, gap_ns=gap_ns)


def _ended_early(sample: Sample, wanted: Synthetic) -> Sample:
    stimulus, failure = sample.step.stimulus, None
    assert stimulus is not None
    if wanted.last_state is StepState.FAILED:
        reason = HOSTILE if wanted.hostile else "Input/output error (EIO)"
        failure = IoFailure("write", 81_920_000, stimulus.block_size_bytes, reason)
    return with_changes(
        sample, state=wanted.last_state, ended_by=None, elapsed_ns=sample.elapsed_ns // 3, failure=failure
    )


def plausible_iops(read_pct: int, block_size_bytes: int) -> float:
    """Settled IOPS of the drive that does not exist."""
    transfer = max(block_size_bytes, 4096)
    write_limit = min(190_000, 760e6 / transfer)
    read_limit = min(900_000, 6.9e9 / transfer)
    if block_size_bytes < 4096:
        write_limit, read_limit = write_limit * 0.82, read_limit * 0.9
    share = read_pct / 100
    return 1 / (share / read_limit + (1 - share) / write_limit)


def step_sample(
    block_size_bytes: int, read_pct: int, iops: float, seconds: int, *, each_stands_for: int = 1
) -> Sample:
    """One complete step with so many IOPS; of a simulated drive each I/O stands for many."""
    ios = max(1, round(iops * seconds))
    reads = round(ios * read_pct / 100)
    mean_ns = TC * QD * NS_PER_S / iops
    stimulus = Stimulus.of(AccessPattern.RANDOM, block_size_bytes, read_pct, TC, QD, RANGE)
    return sample_of(
        Step.of(stimulus, Duration(seconds * NS_PER_S)),
        elapsed_ns=seconds * NS_PER_S,
        gap_ns=1_000_000,
        read=_operation(reads, block_size_bytes, mean_ns * 0.9, each_stands_for),
        write=_operation(ios - reads, block_size_bytes, mean_ns * 1.1, each_stands_for),
        cpu=CpuShares(2.5, 3.1 + read_pct / 60, 7.4, 20 * NS_PER_S),
    )


def _operation(nominal_ios: int, size: int, mean_ns: float, each_stands_for: int = 1) -> OperationSample:
    ios = -(-nominal_ios // each_stands_for)
    if not ios:
        return NOTHING
    latencies = _latencies(ios, mean_ns)
    total_ns = sum(latency_ns * count for latency_ns, count in latencies)
    encoded = encode_counts(latencies)
    ios, total_ns = ios * each_stands_for, total_ns * each_stands_for
    return OperationSample(ios, ios * size, total_ns, latencies[0][0], latencies[-1][0], encoded)


@cache
def _latencies(ios: int, mean_ns: float) -> list[tuple[int, int]]:
    """A smallest value, a body around the mean, a tail, and one largest value, which have that mean."""
    if ios < 100:
        return [(round(mean_ns), ios)]
    tail = ios // 20_000
    few = [(round(mean_ns * 0.3), 1), (round(mean_ns * 0.8), (ios - tail - 2) // 2)]
    many = ios - tail - 2 - few[1][1]
    rare = [(round(mean_ns) * 6, tail), (round(mean_ns * 14), 1)]
    left_ns = round(ios * mean_ns) - sum(value * count for value, count in (*few, *rare))
    return [*few, (round(left_ns / many), many), *rare]


def precondition_sample(each_stands_for: int = 1) -> Sample:
    """Two user capacities in sequential writes."""
    amount = 2 * CAPACITY_BYTES
    ios = amount // (128 * KIB)
    elapsed_ns = round(amount / 2.1e9 * NS_PER_S)
    stimulus = Stimulus.of(AccessPattern.SEQUENTIAL, 128 * KIB, 0, TC, QD, RANGE)
    written = _operation(ios, 128 * KIB, 7_900_000, each_stands_for)
    return sample_of(
        Step.of(stimulus, ByteAmount(amount)),
        ended_by="byte_amount",
        elapsed_ns=elapsed_ns,
        gap_ns=None,
        write=written,
        intervals=(interval_of(0, write=written, in_flight=TC * QD),),
        cpu=CpuShares(1.0, 2.0, 3.0, 9 * NS_PER_S),
    )

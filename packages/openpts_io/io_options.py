"""The options of `openpts io` in the order of its help, and the stimulus and stop rule that they make."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource
from msgspec import UNSET, UnsetType

from openpts.cli.options import FILE, FOLDER, HOW_LONG, SAFETY, WHAT, FiniteRange, flag, group, option
from openpts.device.ata_identify import serial_number
from openpts.device.block_device import BlockDevice
from openpts.device.nearby_cpus import NUMA, pinned_cpus
from openpts.device.targets.target import FileTarget, parse_target
from openpts.engine.options import CaptureSettings, CompletionWait, IoPath, NativeOptions
from openpts.errors import UsageError
from openpts.fields.parsing import amount_bytes, data_pattern, refuse, the_one_given, transfer_size_bytes
from openpts.plugins import Kind, offers
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.stimulus import (
    ActiveRange,
    BlockSize,
    Burst,
    ByteAmount,
    ClosedLoop,
    DataPattern,
    DriveFills,
    Duration,
    DutyCycle,
    FirstOf,
    FixedRate,
    IoCount,
    Normal,
    OperationWeights,
    Pareto,
    Placement,
    Poisson,
    RandomData,
    Segments,
    Steady,
    Stimulus,
    StopRule,
    ThinkTime,
    Uniform,
    UniqueLbas,
    VerifiedData,
    Zipf,
    Zones,
)
from openpts_io import io_stimulus as words
from openpts_io.fio_values import KIB_BASE, ORDERS, READ, TRIM, ValueTextError, time_ns, weighted_sizes
from openpts_io.io_stimulus import block_sizes
from openpts_sim.simulated_target import names_simulated

_DEFAULT_SECONDS: Final = 10.0
_WEIGHT: Final = click.IntRange(0, 2**32 - 1)
_PERCENT: Final = click.IntRange(0, 100)
_COUNT: Final = click.IntRange(0, 2**63 - 1)


@dataclass(frozen=True, slots=True)
class LoadArgs:
    """One stimulus and when it ends; None for an option that was not given."""

    bs: tuple[BlockSize, ...] = option(
        "SIZES",
        "Transfer size, or up to 64 with weights: 4k:67,8k:33.",
        words.block_sizes,
        default="4k",
        usual=WHAT,
    )
    mix: tuple[int, int] | None = option(
        "R/W", "Per cent of reads and writes; 100/0.", words.read_write_mix, usual=WHAT
    )
    trim: int | None = option("N", "Weight of trims; that of --mix is 100.", _WEIGHT)
    flush: int | None = option("N", "Weight of cache flushes; that of --mix is 100.", _WEIGHT)
    fsync: int | None = option("N", "Weight of fsyncs; that of --mix is 100.", _WEIGHT)
    ops: OperationWeights | None = option(
        "WEIGHTS", "All operations at once: read=70,write=20,trim=5,flush=5.", words.operations
    )
    tc: int = option("--tc --numjobs N", "Thread count.", click.IntRange(1, 1024), default=1, usual=WHAT)
    qd: int = option(
        "--qd --iodepth N", "Queue depth of each thread.", click.IntRange(1, 4096), default=32, usual=WHAT
    )
    rw: str | None = option(
        "", "Operations and order as fio names them, for --mix.", click.Choice(list(ORDERS))
    )
    rwmixread: int | None = option("PCT", "Per cent of reads of --rw randrw.", _PERCENT)
    bssplit: str | None = option("SIZES", "Transfer sizes as fio writes them: 4k/67:8k/33.")
    pattern: str | None = option(
        "", "Order of accesses; random.", click.Choice(["random", "sequential"]), usual=WHAT
    )
    random_pct: int | None = option(
        "PCT", "Per cent of random accesses; the others continue sequentially.", _PERCENT
    )
    active_range: ActiveRange = option(
        "--range START:END", "Part of the LBAs, in per cent.", words.active_range, default="0:100"
    )
    zones: Zones | None = option(
        "A/R,...", "Access ranges: 50/5,30/15,20/80 (accesses/range, in %).", words.zones
    )
    zipf: Zipf | None = option("THETA", "Zipf distribution with this exponent.", words.zipf)
    pareto: Pareto | None = option("H", "A share H of the blocks gets 1-H of the accesses.", words.pareto)
    normal: Normal | None = option(
        "M,D", "Hot spot: mean and standard deviation in per cent of the range.", words.normal
    )
    segments: Segments | None = option(
        "N:SIZE", "N segments of this size, spread over the range.", words.segments
    )
    unique: UniqueLbas | None = option(
        "SIZE", "A random choice of blocks of this total size.", words.unique_lbas
    )
    align: int | None = option("SIZE", "Alignment of random accesses. [default: 4k]", transfer_size_bytes)
    stride: int | None = option(
        "SIZE", "Distance from one sequential access to the next.", transfer_size_bytes
    )
    rate: FixedRate | None = option(
        "IOPS", "Fixed rate of all threads (open loop).", words.fixed_rate, usual=WHAT
    )
    poisson: Poisson | None = option(
        "IOPS", "Poisson arrivals with this mean rate (open loop).", words.poisson
    )
    burst: Burst | None = option("N@MS", "N I/Os at once, every MS milliseconds (open loop).", words.burst)
    duty: DutyCycle | None = option(
        "ON/OFF", "Milliseconds with and without I/O, alternating.", words.duty_cycle
    )
    placement_handle: int | None = option(
        "N", "Placement handle that writes name (NVMe FDP); untried on hardware.", click.IntRange(0, 65535)
    )
    think: ThinkTime | None = option(
        "US", "Microseconds that each outstanding I/O waits after its completion.", words.think_time
    )
    data: str | None = option(
        "WHAT",
        "random, random-once, zero, pattern:HEX, entropy:PCT[,dup:PCT][,granule:SIZE], "
        "or verified:GENERATION (checked on read). [default: random]",
    )
    seconds: float | None = option(
        "SECONDS",
        f"Stop after this time; {_DEFAULT_SECONDS:g}, unless others stop.",
        FiniteRange(0, 10**9, min_open=True),
        usual=HOW_LONG,
    )
    runtime: str | None = option("TIME", "The same as fio writes it: 90, 10m, 2h.")
    amount: int | None = option(
        "--bytes SIZE", "Stop after this much data, such as 16GiB.", amount_bytes, usual=HOW_LONG
    )
    fills: float | None = option(
        "N", "Stop after this many times the capacity.", FiniteRange(0, 10**6, min_open=True), usual=HOW_LONG
    )
    ios: int | None = option("N", "Stop after this many I/Os.", click.IntRange(1, 2**63 - 1))
    until_steady: str | None = option(
        "FIGURE",
        "Stop when iops, throughput or latency is steady; "
        "with [,window=S][,windows=N][,excursion=PCT][,slope=PCT] after it.",
    )
    ramp: float = option(
        "SECONDS",
        "Seconds at the beginning that are not counted.",
        FiniteRange(0, 10**6),
        default=0,
        show_default=False,
    )

    def stimulus(self) -> Stimulus:
        """The stimulus that the options describe. Raises UsageError where they make no sense together."""
        operations, random_pct = self._operations(), self._random_pct()
        if self.stride is not None and random_pct == 100:
            raise UsageError(
                "--stride applies to sequential accesses, and the stimulus has none: see --pattern"
            )
        return Stimulus(
            random_pct=random_pct,
            block_sizes=self.bs,
            operations=operations,
            tc=self.tc,
            qd=self.qd,
            active_range=self.active_range,
            placement=self._placement(random_pct),
            alignment_bytes=self.align,
            stride_bytes=self.stride,
            pacing=self._one_of("rate", "poisson", "burst", "duty", "think")[1] or ClosedLoop(),
            data=self._data(operations),
            placement_handle=self._placement_handle(operations),
        )

    def _operations(self) -> OperationWeights:
        others = {"trim": self.trim, "flush": self.flush, "fsync": self.fsync}
        if self.ops is None:
            read, write = self.mix or (100, 0)
            return OperationWeights(read, write, **{name: weight or 0 for name, weight in others.items()})
        given = [f"--{name}" for name, value in {"mix": self.mix, **others}.items() if value is not None]
        if given:
            raise UsageError(
                f"--ops and {' and '.join(given)} exclude each other: give all operations with --ops"
            )
        return self.ops

    def _random_pct(self) -> int:
        if self.pattern is not None and self.random_pct is not None:
            raise UsageError("--pattern and --random-pct exclude each other: give one of them")
        by_pattern = 0 if self.pattern == "sequential" else 100
        return by_pattern if self.random_pct is None else self.random_pct

    def _placement(self, random_pct: int) -> Placement:
        given, placement = self._one_of("zones", "zipf", "pareto", "normal", "segments", "unique")
        if given is not None and not random_pct:
            raise UsageError(f"{given} applies to random accesses, and the stimulus has none")
        return placement or Uniform()

    def _placement_handle(self, operations: OperationWeights) -> int | UnsetType:
        if self.placement_handle is None:
            return UNSET
        if not operations.write:
            raise UsageError("--placement-handle applies to writes, and the stimulus has none: see --mix")
        return self.placement_handle

    def _one_of(self, *names: str) -> tuple[str | None, Any]:
        ways = {f"--{name}": getattr(self, name) for name in names}
        given = the_one_given(ways)
        return given, ways.get(given or "")

    def _data(self, operations: OperationWeights) -> DataPattern:
        if self.data is None:
            return RandomData()
        data = data_pattern("--data", self.data)
        if not operations.write and not isinstance(data, VerifiedData):
            raise UsageError(f"--data {self.data!r} applies to writes, and the stimulus has none: see --mix")
        return data

    def stop(self, interval_ns: int) -> StopRule:
        """Whichever comes first of all that was given; ten seconds if nothing was. Raises UsageError."""
        if self.amount is not None and self.fills is not None:
            raise UsageError("--bytes and --fills exclude each other: give one of them")
        ways: dict[Callable[[Any], Duration | ByteAmount | DriveFills | IoCount], float | None] = {
            Duration.seconds: self.seconds,
            ByteAmount: self.amount,
            DriveFills: self.fills,
            IoCount: self.ios,
        }
        rules: list[Duration | ByteAmount | DriveFills | IoCount | Steady] = [
            rule(value) for rule, value in ways.items() if value is not None
        ]
        if self.until_steady is not None:
            rules.append(self._steady(self.until_steady, interval_ns))
        if not rules:
            return Duration.seconds(_DEFAULT_SECONDS)
        return rules[0] if len(rules) == 1 else FirstOf(tuple(rules))

    @staticmethod
    def _steady(text: str, interval_ns: int) -> Steady:
        rule = words.steady("--until-steady", text)
        if rule.window_ns <= 0 or rule.window_ns % interval_ns:
            whole = f"a window must be a multiple of --interval, {interval_ns / NS_PER_S:g} s"
            refuse("--until-steady", text, whole)
        return rule


@dataclass(frozen=True, slots=True)
class FioJobs:
    """A job file in the place of the one stimulus, and the load as one."""

    fio_job: Path | None = option(
        "--fio JOB", "Run the jobs of this fio job file, each as a stream, instead of one stimulus.", FILE
    )
    fio_values: tuple[str, ...] = option(
        "--fio-value NAME=VALUE",
        "Put VALUE for ${NAME} in the job file, or else the environment's; repeatable.",
        multiple=True,
    )
    print_fio: bool = flag("Print the load as a fio job file instead of measuring it.")


@dataclass(frozen=True, slots=True)
class EngineArgs:
    """How the engine does its work."""

    io_path: str | None = option(
        "",
        "I/O path. [default: what a probe of the target finds best]",
        click.Choice([path.value for path in IoPath]),
    )
    wait: str = option(
        "",
        "Wait for each completion (latency), or for several at once (throughput).",
        click.Choice([wait.value for wait in CompletionWait]),
        default=CompletionWait.EACH.value,
    )
    cpus: str = option(
        "LIST|numa|none",
        "Pin the threads: 0-3,8; or to the target's NUMA node where it is known; or not at all.",
        default=NUMA,
    )
    max_errors: int = option("N", "Tolerate up to N failed I/Os.", _COUNT, default=0)
    interval_seconds: float = option(
        "--interval SECONDS",
        "Seconds from one line of figures to the next.",
        FiniteRange(0.01, 3600),
        default=1.0,
    )
    alone: bool = flag("Measure each of several streams alone first, and print what the others cost it.")
    seed: int | None = option("N", "Seed of offsets and data; random.", _COUNT)
    capture: Path | None = option(
        "", "Record every I/O in Parquet files in this folder, which is created if missing.", FOLDER
    )

    def options(self) -> NativeOptions:
        """The choices that the words stand for. Raises UsageError."""
        return NativeOptions(
            io_path=None if self.io_path is None else IoPath(self.io_path),
            cpus=pinned_cpus(self.cpus),
            completion_wait=CompletionWait(self.wait),
            most_errors=self.max_errors,
            interval_ns=round(self.interval_seconds * NS_PER_S),
            capture=None if self.capture is None else CaptureSettings(self.capture, lba_bytes=0),
        )


@dataclass(frozen=True, slots=True)
class ConsentArgs:
    """The consent to lose what is on any of the targets."""

    serials: tuple[str, ...] = option(
        "--confirm-serial SERIAL", "Confirm a drive's serial number, to write.", multiple=True, usual=SAFETY
    )
    device_paths: tuple[str, ...] = option(
        "--confirm-device-path PATH", "Confirm a device without a serial number by its path.", multiple=True
    )
    erase_signatures: bool = flag("Overwrite partition tables and file systems.", usual=SAFETY)
    overwrite_file: bool = flag("Overwrite a file that openpts did not create.", usual=SAFETY)

    def for_target(self, target: str, roots: SystemRoots) -> Consent:
        """The words for one target; the guard compares them with the drive that it opens.

        Raises TargetError and UsageError as parse_target does.
        """
        if names_simulated(target):
            return Consent()  # no user's data
        parsed = parse_target(target)
        if isinstance(parsed, FileTarget):
            return Consent(overwrite_file=self.overwrite_file)
        serial = serial_number(BlockDevice.of_node(parsed.path, roots)).value
        names = {str(parsed.path), os.path.realpath(parsed.path)}
        return Consent(
            confirm_serial=_own_word(self.serials, {serial}),
            confirm_device_path=_own_word(self.device_paths, names),
            erase_signatures=self.erase_signatures,
        )


def _own_word(words: tuple[str, ...], names: set[str | None] | set[str]) -> str | None:
    """The word that is one of the names, or else the first, so that the guard can say what it is not."""
    return next((word for word in words if word in names), words[0] if words else None)


@dataclass(frozen=True, slots=True)
class IoArgs:
    """All options of a measurement; the job files of fio belong to a plug-in."""

    load: LoadArgs = group(LoadArgs)
    fio: FioJobs | None = group(FioJobs) if "fio" in offers(Kind.JOB_FILES) else None
    engine: EngineArgs = group(EngineArgs)
    consent: ConsentArgs = group(ConsentArgs)


_MIXES: Final = ("rw", "readwrite", "randrw")


def in_own_words(load: LoadArgs) -> LoadArgs:
    """The options with fio's spellings replaced by ours. Raises UsageError where both are given."""
    own: dict[str, Any] = {}
    if load.rw is not None:
        own |= _operations(load.rw, load)
    elif load.rwmixread is not None:
        raise UsageError("--rwmixread applies to --rw randrw: use --mix otherwise")
    if load.bssplit is not None:
        _refuse_both("--bssplit", {"bs": "--bs"})
        own["bs"] = _sizes(load.bssplit)
    if load.runtime is not None:
        _refuse_both("--runtime", {"seconds": "--seconds"})
        try:
            own["seconds"] = time_ns(load.runtime, NS_PER_S) / NS_PER_S
        except ValueTextError as error:
            raise UsageError(f"invalid --runtime {load.runtime!r}: {error}") from error
        if not own["seconds"]:
            raise UsageError("invalid --runtime 0: a time of 0 does nothing")
    return replace(load, **own)


def _operations(word: str, load: LoadArgs) -> dict[str, Any]:
    _refuse_both("--rw", {"mix": "--mix", "ops": "--ops", "trim": "--trim", "pattern": "--pattern"})
    directions, random = ORDERS[word]
    if load.rwmixread is not None and word not in _MIXES:
        raise UsageError(f"--rwmixread applies to --rw randrw, not to --rw {word}")
    own: dict[str, Any] = {}
    if not (random and load.random_pct is not None):
        own["pattern"] = "random" if random else "sequential"
    if word in _MIXES:
        read_pct = 50 if load.rwmixread is None else load.rwmixread
        return own | {"mix": (read_pct, 100 - read_pct)}
    if directions == (TRIM,):
        return own | {"ops": OperationWeights(trim=1)}
    return own | {"mix": (100, 0) if directions == (READ,) else (0, 100)}


def _sizes(text: str) -> tuple[BlockSize, ...]:
    try:
        words = ",".join(f"{size}:{weight}" for size, weight in weighted_sizes(text, KIB_BASE).items())
    except ValueTextError as error:
        raise UsageError(f"invalid --bssplit {text!r}: {error}") from error
    return block_sizes("--bs", words)


def is_given(name: str) -> bool:
    """Whether the option was written on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in {None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP}


def _refuse_both(option: str, others: Mapping[str, str]) -> None:
    for name, other in others.items():
        if is_given(name):
            raise UsageError(f"{option} and {other} exclude each other: give one of them")

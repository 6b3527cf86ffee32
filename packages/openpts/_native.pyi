"""The Rust data plane: latency histograms, the engine, simulated drives and their engine."""

import builtins
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Final, Self, final

from typing_extensions import disjoint_base

__all__ = [
    "CaptureSummary",
    "Engine",
    "Histogram",
    "IntervalResult",
    "LiveCapture",
    "OperationResult",
    "Played",
    "PowerCut",
    "Preset",
    "Shape",
    "SimulatedDrive",
    "SimulatedEngine",
    "SlowIo",
    "StepResult",
    "StoppedError",
    "StreamResult",
    "UnavailableError",
    "WatchedTime",
    "build_info",
    "filling_schedule",
    "measure_memory",
    "measure_overhead",
    "power_fault_names",
    "prepare_schedule",
    "probe",
    "trace_formats",
    "trace_outputs",
    "trace_recipes",
    "treat_trace",
]

class UnavailableError(OSError):
    """The path to the target can't be made, memory or threads are short, or a drive refuses an order."""

class StoppedError(RuntimeError):
    """The engine was stopped or an I/O failed: it runs no more programs."""

def build_info() -> dict[str, str]:
    """Version, build profile and processor architecture of the Rust module.

    The profile is ``release``, or else its name with the level of optimization: ``dev (opt-level 3)``.
    """

def trace_formats() -> list[tuple[str, str]]:
    """Name and label of each format of traces that can be read."""

def trace_outputs() -> list[str]:
    """The names of the formats that traces can be written in."""

def trace_recipes() -> list[tuple[str, str]]:
    """Name and text of each recipe that ships."""

def treat_trace(order: str, *, descriptor: int | None, heard: Callable[[int], object]) -> str:
    """Read a trace once, and write it to an open file or compute its figures; order and result are JSON.

    ``heard`` gets the number of I/Os so far, now and then; what it raises ends everything. Raises ValueError
    for a trace that can't be used, and OSError if the file can't be written.
    """

@final
class WatchedTime:
    """Notices from now on when this process does not run: stopped, frozen, or the machine suspended."""

    def __new__(cls) -> WatchedTime: ...
    def between(self, from_ns: int, until_ns: int) -> list[tuple[int, int]]:
        """When that was and for how long, between two moments of time.monotonic_ns.

        They are asked for in order: what ended before the first is forgotten.
        """

@final
class LiveCapture:
    """A capture of block I/O while it goes on: what the kernel hands out becomes a file. Times are ns of
    time.monotonic_ns.
    """

    def __new__(cls, order: str) -> LiveCapture:
        """Begin one, and its file; ``order`` is JSON. Raises UnavailableError, ValueError."""

    def feed(self, processor: int, data: builtins.bytes) -> None:
        """Take what a processor's buffer held."""

    def advance(self, until_ns: int) -> None:
        """No event before this moment will come any more. Raises UnavailableError if the file is full."""

    def lose(self, processor: int, from_ns: int, to_ns: int, events: int) -> None:
        """The kernel had no room for some events."""

    def commands(self) -> list[str]:
        """Names of processes so far, in the order of their numbers."""

    def summary(self) -> str:
        """What there is so far, as JSON."""

    def finish(self, end: str) -> str:
        """End the capture and its file; ``end`` and what is returned are JSON. Raises UnavailableError."""

def power_fault_names() -> list[str]:
    """The names of faults that a drive may have when its power goes."""

@final
class PowerCut:
    """A range of sectors from the first one on, whose power is cut again and again.

    Each sector is stamped with its LBA and the number of its write; ``writers`` write to it with a depth of
    one each. ``simulated`` are contents in memory: the atomic unit in bytes, faults by name with the share of
    writes that each begins in, and a seed. Raises ValueError if there are too few places for the writers, or
    no such fault.
    """

    def __new__(
        cls,
        *,
        sector_bytes: int,
        sectors: int,
        write_sectors: list[int],
        writers: int,
        writes_per_flush: int,
        fua_pct: int,
        seed: int,
        simulated: tuple[int, list[tuple[str, float]], int] | None,
    ) -> PowerCut: ...
    def prepare(self, descriptor: int) -> None:
        """Write what has no known contents. Raises OSError."""

    def start(self, descriptor: int) -> None:
        """Begin to write, with a journal of its own. Raises OSError if memory or threads are short."""

    def cut(self) -> None:
        """From now on I/Os may fail; what is acknowledged after half a second of silence does not count."""

    def progress(self) -> tuple[int, int, int, bool, str | None]:
        """Acknowledged writes, flushes, threads at work, whether the journal is closed, a failure."""

    def end(self, timeout_s: float) -> bool:
        """Close the journal; whether all threads ended in time."""

    def verify(
        self, descriptor: int, *, volatile: bool, atomic_sectors: int, each_sector: bool
    ) -> tuple[dict[str, int], list[tuple[str, int, int, str, str, str]]]:
        """Read all of the range back and judge it: counts by name, and the first accusations.

        Each has class, LBA, sectors, what was expected and found, and the journal's context. Raises OSError
        if nothing can be read.
        """

    def simulate(
        self, answers: int, *, cache_on: bool, volatile: bool, atomic_sectors: int, each_sector: bool
    ) -> tuple[dict[str, int], list[tuple[str, int, int, str, str, str]]]:
        """Prepare, write until so many answers have come, cut the power and judge, on simulated contents."""

@final
class Histogram:
    """A log-linear latency histogram: at most 0.1 % relative error per value, unit ns."""

    def __new__(cls) -> Histogram: ...
    @staticmethod
    def decode(encoded: bytes) -> Histogram:
        """Read HdrHistogram V2, compressed or not. Raises ValueError on bytes that are none."""

    def encode(self) -> bytes:
        """HdrHistogram V2 compressed encoding."""

    def record(self, value_ns: int, count: int = 1) -> None:
        """Count a latency ``count`` times."""

    def add(self, other: Histogram) -> None:
        """Merge another histogram into this one; counts add up, nothing is averaged."""

    count: Final[int]
    """Number of values recorded."""

    def bounds(self) -> tuple[int, int, int, int, int, int] | None:
        """What the buckets tell of minimum, maximum and sum (ns): the least and the most that each can be, in
        this order. None if empty.
        """

    def value_at_percentile(self, percentile: float) -> int:
        """Smallest bucket's upper end that at least ``percentile`` % of values do not exceed; 0 if empty."""

    def counts_up_to(self, limits_ns: Sequence[float]) -> list[int]:
        """For each limit, which ascend, the number of values in buckets that end at or below it."""

    def buckets(self) -> list[tuple[int, int, int]]:
        """Non-empty buckets in ascending order: lowest and highest value (ns, inclusive) and count."""

@final
class OperationResult:
    """One operation of a step or interval, with at least one I/O; the histogram may be left out."""

    ios: int
    bytes: int
    latency_sum_ns: int
    latency_min_ns: int | None
    latency_max_ns: int | None
    histogram: builtins.bytes

@final
class IntervalResult:
    """One interval of the step that runs.

    ``operations`` are those that had an I/O, by name; ``streams`` those of each of several streams. ``cpu``
    is user, system and I/O wait in per cent of all processors and the process's own time in ns. A simulated
    drive with a sensor gives its temperature at the interval's end and whether heat slowed it down in it;
    other engines have None. ``energy_j`` is what a simulated drive has drawn in it, ``media_write_bytes``
    what it has written to its media.
    """

    step: int
    index: int
    elapsed_ns: int
    operations: dict[str, OperationResult]
    streams: list[dict[str, OperationResult]]
    in_flight: int
    errors: int
    cpu: tuple[float, float, float, int] | None
    temperature_c: int | None
    throttled: bool | None
    energy_j: float | None
    media_write_bytes: int | None

@final
class StreamResult:
    """The part of one of several streams in a step.

    ``slips`` is how long after their planned moments, or after they had room, I/Os were submitted, encoded as
    latencies are.
    """

    ended_by: str | None
    started_ns: int
    elapsed_ns: int
    operations: dict[str, OperationResult]
    ios_by_block_size: list[int]
    ios_by_zone: list[int]
    unissued: int
    slips: bytes
    errors: int

@final
class StepResult:
    """The result of one step; times are on the engine's clock.

    ``state`` is complete, interrupted or failed; ``ended_by`` amount, steady_state or duration.
    ``failure`` is operation, offset and length of the first I/O that failed, and the reason;
    ``errors`` are operation, reason, count and first offsets of all that failed alike.
    ``ios_by_block_size`` and ``ios_by_zone`` count the transfers in the order of the stimulus, and are
    empty where it has one size, or no zones.
    ``standstills`` are when this process did not run and for how long. ``energy_j`` and
    ``media_write_bytes`` are what a simulated drive used up in it, ``host_write_bytes`` what the host wrote,
    also with I/Os that do not count, ``free_blocks_pct`` the share of its blocks that is free at its end.
    """

    index: int
    state: str
    ended_by: str | None
    started_ns: int
    elapsed_ns: int
    gap_ns: int | None
    operations: dict[str, OperationResult]
    streams: list[StreamResult]
    ios_by_block_size: list[int]
    ios_by_zone: list[int]
    cpu: tuple[float, float, float, int] | None
    unissued: int
    slips: bytes
    failure: tuple[tuple[str, int, int], str] | None
    errors: list[tuple[str, str, int, list[int]]]
    standstills: list[tuple[int, int]]
    carried: str
    played: list[Played]
    slow_ios: list[SlowIo]
    energy_j: float | None
    media_write_bytes: int | None
    host_write_bytes: int | None
    free_blocks_pct: float | None

@final
class SlowIo:
    """An I/O that took long, and what its thread knew of that time; see vocabulary.sample.SlowIo."""

    operation: str
    offset_bytes: int
    length_bytes: int
    submitted_ns: int
    latency_ns: int
    silence_ns: int
    idle_ns: int | None
    absent_ns: int
    own_ns: int
    waited_ns: int | None
    ran_ns: int | None
    interruptions: int
    looks: int
    least_at_driver: int | None
    missing_at_driver: int | None
    foreign_at_driver: int | None

@final
class CaptureSummary:
    """What a finished capture holds, and how often and how long the I/O waited for it."""

    ios: int
    discarded_ios: int
    bytes_written: int
    files: int
    blocked_times: int
    blocked_ns: int

@final
class Engine:
    """Warm threads with a queue each on one open target.

    Takes its own duplicate of the descriptor. ``capture`` is a folder for every single I/O of the steps that
    ask for it, made with the first of them, and what all offsets are multiples of. I/Os that take
    ``slow_io_ns`` or more are noted by themselves. The limits are those of the largest stimulus to come.
    Raises UnavailableError if the path to the target can't be made or the kernel does not allow so much,
    OSError if the descriptor is not open, ValueError if there is no path of that name.
    """

    def __new__(
        cls,
        descriptor: int,
        *,
        capacity_bytes: int,
        sector_bytes: int,
        tc: int,
        qd: int,
        block_size_bytes: int,
        seed: int,
        interval_ns: int,
        interval_histograms: bool,
        io_path: str,
        batched_wait: bool,
        slow_io_ns: int | None,
        cpus: list[int],
        most_errors: int,
        over_read_errors: bool,
        capture: tuple[PathLike[str], int] | None,
        resumed: tuple[int, str] | None,
    ) -> Engine: ...
    def submit(self, program_json: str) -> None:
        """Queue steps; they begin at once if the engine is idle.

        Raises ValueError if a step makes no sense, breaks a limit or can't be done on this path,
        StoppedError after a failure.
        """

    def check(self, program_json: str) -> None:
        """Raise the ValueError that ``submit`` would raise for these steps, and queue nothing."""

    def poll(self, timeout_s: float) -> IntervalResult | StepResult | None:
        """Next finished interval or step, or None after the time; other threads run meanwhile.

        Raises StoppedError when nothing more will come.
        """

    def progress(self) -> tuple[int, int, int, int]:
        """Steps begun, ns since the current one began, I/Os and bytes since the engine was made."""

    def oldest(self) -> tuple[int, str, int, int] | None:
        """Age in ns, operation, offset and length of the I/O that waits longest for its answer."""

    def stop(self) -> None:
        """End the step that runs and take no more; its result still comes."""

    def finish(self) -> CaptureSummary | None:
        """Stop, and complete the capture's files.

        Raises UnavailableError if not every I/O is in them.
        """

    def features(self) -> dict[str, bool]:
        """What the kernel gave the threads."""

    def clock_source(self) -> str:
        """Where the times come from."""

def probe(descriptor: int, *, sector_bytes: int) -> tuple[str, list[tuple[str, str]]]:
    """Name of the path that suits the target, and what was found, by name. Reads, never writes."""

def measure_memory(*, cpus: list[int], buffer_bytes: int, duration_ms: int) -> tuple[list[float], float]:
    """What a thread on each of ``cpus`` moves while all of them copy, from one buffer of its own to another.

    Bytes read and written per second, together, for each processor in the order given; and how much of the
    time the threads had their processors, 1 if no other program did. Raises OSError if one may not be used,
    or there is no memory for the buffers.
    """

def measure_overhead(*, cpus: list[int]) -> tuple[float, float, float]:
    """What the engine itself costs without a device, with its thread on the first of ``cpus``, if any.

    Mean latency at QD 1 of a request that does nothing; the same of one that is answered by a timer's
    interrupt while the thread sleeps, less the timer's time; processor time per I/O at QD 128; all in ns.
    Takes some 200 ms. Raises UnavailableError where there is no io_uring.
    """

@disjoint_base
class Preset:
    """A simulated drive as its TOML text describes it, read and checked.

    Raises ValueError, one sentence with the line or the dotted name of what makes no sense.
    """

    def __new__(cls, text: str) -> Self: ...
    text: Final[str]
    """The file as it is."""

    name: Final[str]
    """Its name, as reports print it."""

    summary: Final[str]
    """What it stands for, in a line."""

    model: Final[str]
    """What kind of model: ``page-mapped``, ``log-block`` or ``oracle``."""

    class_name: Final[str | None]
    """The class of the specification that such a drive is of; None where the file has none."""

    capacity_bytes: Final[int]
    """Size of the nominal drive, where the user names none."""

    sector_bytes: Final[int]
    """Logical block."""

    assumed: Final[list[str]]
    """Dotted names of parameters that nothing published supports."""

    rated: Final[dict[str, float]]
    """What the maker promises, by name."""

    limits_c: Final[dict[str, float]]
    """Temperatures of the drive's own limits, ``warning_c`` and ``critical_c``, as far as it has them."""

    slc_burst_share: Final[float | None]
    """Share of the user capacity that a fresh drive takes into single-bit cells; None without such a
    cache.
    """

    def figures(self) -> list[dict[str, Any]]:
        """The published figures, as they are written."""

    def as_written(self) -> dict[str, Any]:
        """The whole file: tables, arrays and values in its order."""

    def shape(self, capacity_bytes: int, scale: int) -> Shape | None:
        """What follows for a drive of so many nominal bytes; None for an oracle, which has no flash.

        Raises ValueError at a scale of 0.
        """

@final
class Shape:
    """A simulated drive's size and speed before one is made. Bytes and pages are the simulated ones, times
    micro times, rates estimates.

    ``superblocks``, their user bytes and ``rows`` are 0 where the model has none. ``settling_ns`` is how far
    work that one phase leaves behind can reach into the next: a full write buffer, or a merge or collection
    at once.
    """

    user_bytes: int
    physical_pages: int
    superblocks: int
    superblock_user_bytes: float
    rows: int
    rows_of_real_drive: int
    buffer_bytes: int
    settling_ns: float
    fresh_write_bytes_per_s: float

    def expected_iops(self, block_size_bytes: int, *, read_share: float, collects: bool) -> float:
        """About how many I/Os the drive does each second at most; if it ``collects``, as random writes in
        steady state make it.
        """

@final
class SimulatedDrive:
    """A drive in virtual time, made from a preset; quantities are those of the nominal drive.

    One simulated page stands for ``scale`` pages. The capacity may come out a little smaller than asked for.
    Orders (purge, caches, jump start) wait until the programs that were submitted before have ended or were
    stopped; other threads run meanwhile. Between programs and orders no virtual time passes.
    Raises ValueError if the preset can't have that capacity.
    """

    def __new__(cls, preset: Preset, *, capacity_bytes: int, scale: int, seed: int) -> SimulatedDrive: ...
    name: Final[str]
    """Name of the preset."""

    capacity_bytes: Final[int]
    """Size of the nominal drive."""

    simulated_bytes: Final[int]
    """Size of what is simulated; ``scale`` times that is the nominal drive's."""

    scale: Final[int]
    """How many pages one simulated page stands for."""

    sector_bytes: Final[int]
    """Logical block."""

    geometry: Final[dict[str, float]]
    """How the model came out, by name; empty for an oracle."""

    def now_ns(self) -> int:
        """Time since the drive was made; while a program runs, some I/Os ago."""

    def purge(self) -> int:
        """Forget all data; the time in ns that it took.

        Raises UnavailableError if the drive has no purge or it fails.
        """

    def holds_data(self) -> int:
        """Pages of 4 KiB that hold data."""

    def write_cache(self) -> bool | None:
        """Whether the volatile write cache is on; None if there is none."""

    def set_write_cache(self, enabled: bool) -> None:
        """Switch the volatile write cache. Raises UnavailableError if there is none."""

    def power_states(self) -> list[tuple[float, float, bool, float, float]]:
        """Of each power state most W, idle W, whether I/O is done in it, declared entry and exit in us."""

    def power_setting(self) -> tuple[int, bool, list[tuple[int, int]]] | None:
        """State commanded, whether transitions are autonomous, and 32 of them: into which, after how many ms.

        None of a drive with one state.
        """

    def command_power_state(self, state: int) -> None:
        """Enter a power state. Raises UnavailableError if there is none of that number."""

    def set_autonomous(self, autonomous: bool, table: list[tuple[int, int]]) -> None:
        """Set the autonomous transitions. Raises UnavailableError if the drive has one state."""

    def flush_caches(self) -> int:
        """Fold or flush all caches into native cells; the time in ns that it took.

        Raises UnavailableError if there is nothing to fold.
        """

    def jump_start(self) -> None:
        """Put the drive into the state that long random writing would leave, at once.

        Raises UnavailableError if its model has no such state in closed form.
        """

    def smart(self) -> dict[str, int | float | bool | None]:
        """The drive's own log, also while a program runs; reading changes nothing."""

    def placement(self) -> dict[str, int] | None:
        """Counters of its reclaim units, and how many placement handles it takes; None if it takes none.

        Waits for the programs that were submitted.
        """

    def engine(
        self,
        *,
        tc: int,
        qd: int,
        block_size_bytes: int,
        seed: int,
        interval_ns: int,
        interval_histograms: bool,
        most_errors: int,
        over_read_errors: bool,
        capture: tuple[PathLike[str], int] | None,
    ) -> SimulatedEngine:
        """An engine on this drive; the limits are those of the largest stimulus to come.

        Several may be made, whose programs run one after the other. Raises UnavailableError if its thread or
        capture can't be made.
        """

@final
class SimulatedEngine:
    """Runs programs on a simulated drive as ``Engine`` does on a real one, in virtual time.

    Programs and results are those of the nominal drive: counts, bytes and times are multiplied by the scale,
    latencies are not. Histograms keep the simulated counts, so that no percentile is told that was not
    simulated; a capture has the simulated I/Os only. Results have no ``cpu``.
    """

    def submit(self, program_json: str) -> None:
        """Queue steps; they begin at once if the engine is idle.

        Raises ValueError if a step makes no sense, breaks a limit, can't be scaled down or needs data that
        are kept, StoppedError after a failure.
        """

    def check(self, program_json: str) -> None:
        """Raise the ValueError that ``submit`` would raise for these steps, and queue nothing."""

    def poll(self, timeout_s: float) -> IntervalResult | StepResult | None:
        """Next finished interval or step, or None after the (real) time; other threads run meanwhile.

        Raises StoppedError when nothing more will come.
        """

    def progress(self) -> tuple[int, int, int, int]:
        """Steps begun, ns since the current one began, I/Os and bytes since the engine was made."""

    def stop(self) -> None:
        """End the step that runs and take no more; its result still comes."""

    def finish(self) -> CaptureSummary | None:
        """Stop, and complete the capture's files.

        Raises UnavailableError if not every I/O is in them.
        """

@final
class Played:
    """How true the replay of a schedule was; see vocabulary.replay.Played."""

    stream: Final[int]
    scheduled: Final[int]
    issued: Final[int]
    dropped: Final[int]
    conflicts: Final[int]
    reordered: Final[int]
    early: Final[int]
    slips: Final[bytes]
    last_slip_ns: Final[int]
    gap_errors: Final[bytes]
    due_latencies: Final[dict[str, bytes]]
    late: Final[dict[str, int]]
    waited_ns: Final[dict[str, int]]
    first_submission_ns: Final[int | None]
    last_answer_ns: Final[int]
    busy_ns: Final[int]
    in_flight: Final[tuple[int, float, float, float, float, float, float]]

def prepare_schedule(path: str, out: str, *, plan: str) -> tuple[str, dict[str, bytes]]:
    """Prepare the trace of a file as a schedule in a new one.

    The plan is JSON of trace_schedules.Plan, what came of it of trace_schedules.Prepared; the encoded
    latencies of the trace by operation are beside it. Raises ValueError for a trace that can't be read or
    does not fit, OSError if the file can't be made.
    """

def filling_schedule(
    out: str, *, ranges: Sequence[tuple[int, int]], sector_bytes: int, block_size_bytes: int
) -> tuple[str, int]:
    """Write a schedule that writes these ranges in order, in a new file; its hash, and its I/Os."""

"""Presets of simulated drives, and how far a drive may be scaled down before its shape changes.

The Rust module reads and checks them, and says what planners and reports need of a preset before a drive is
made of it.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

import tomli_w
from msgspec import Struct

from openpts import _native
from openpts._native import Shape
from openpts.did_you_mean import did_you_mean
from openpts.errors import UsageError
from openpts.units import GB, NS_PER_S, format_capacity, format_duration, format_latency_ms
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.stimulus import Step, Stimulus, planned_length_ns

SHIPPED: Final = "shipped"
_SUFFIX: Final = ".toml"
# The shipped ones have some ten thousand bytes; a device as a preset has no end.
_MOST_BYTES: Final = 1_000_000
# what any page-mapped preset may be given beside what it has: it takes few values, all of them its own
_PLACEMENT: Final = ("page_mapped", "placement")


class Preset(_native.Preset):
    """A simulated drive as its file describes it.

    ``label`` is its name, and distinguishes a shipped preset from an edited copy that kept the name;
    ``place`` is the path of a user's own file, or ``shipped``.
    """

    label: str
    place: str

    def __new__(cls, text: str, place: str = SHIPPED) -> Self:
        """Raises ValueError with the line or the name of what makes no sense."""
        preset = super().__new__(cls, text)
        for name, line in (("name", preset.name), ("summary", preset.summary)):
            if not line or not line.isprintable():
                raise ValueError(f"{name} is {line!r}, which is not one line of text")
        preset.label, preset.place = preset.name, place
        return preset

    @property
    def drive_class(self) -> DriveClass | None:
        """The class of the specification that such a drive is of; None where the file has none."""
        return None if self.class_name is None else DriveClass(self.class_name)


def shipped_presets() -> tuple[Preset, ...]:
    """All presets that come with openpts, by name."""
    return tuple(_parse(file.read_text(encoding="utf-8"), SHIPPED, file.name) for file in _shipped_files())


def load_preset(name_or_path: str, parameters: Sequence[tuple[str, str]] = ()) -> Preset:
    """A shipped preset by its name, or the one of a TOML file by its path; other values by dotted names.

    Raises UsageError if there is none, or if the file makes no sense: with the line where that is known.
    """
    preset = _load(name_or_path)
    return _changed(preset, parameters) if parameters else preset


def _changed(preset: Preset, parameters: Sequence[tuple[str, str]]) -> Preset:
    written = preset.as_written()
    for name, text in parameters:
        *tables, key = name.split(".")
        if tuple(tables) == _PLACEMENT and _PLACEMENT[0] in written:
            written[_PLACEMENT[0]].setdefault(_PLACEMENT[1], {})
        table: Any = written
        for word in tables:
            table = table.get(word) if isinstance(table, dict) else None
        if not isinstance(table, dict) or isinstance(table.get(key), dict | list):
            hint = did_you_mean(name, _names(written), "`openpts sim show` lists all")
            raise UsageError(f"the preset {preset.label} has no parameter {name}: {hint}")
        table[key] = _value(name, text)
    try:
        changed = Preset(tomli_w.dumps(written), f"{preset.place}, with other values")
    except ValueError as error:
        # the lines are those of no file that the operator has
        reason = re.sub(r"^line \d+: ", "", str(error))
        raise UsageError(f"invalid {', '.join(name for name, _ in parameters)}: {reason}") from error
    changed.label = f"{preset.label} with {', '.join(f'{name} = {text}' for name, text in parameters)}"
    return changed


def _names(table: dict[str, Any], before: str = "") -> Iterator[str]:
    """The dotted names of all values in tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _names(value, f"{before}{key}.")
        else:
            yield f"{before}{key}"


def _value(name: str, text: str) -> Any:
    """A number or true and false as in TOML, anything else as a word."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    if isinstance(value, int | float | str):
        return value
    raise UsageError(f"invalid {name}={text}: write a number or a word")


def _load(name_or_path: str) -> Preset:
    for file in _shipped_files():
        if file.name == name_or_path + _SUFFIX:
            return _parse(file.read_text(encoding="utf-8"), SHIPPED, file.name)
    if "/" not in name_or_path and not name_or_path.endswith(_SUFFIX):
        if name_or_path.startswith("sim:"):
            raise UsageError(
                f"{name_or_path} names a drive: its preset alone is "
                f"{name_or_path.removeprefix('sim:').partition('?')[0]!r}"
            )
        names = [file.name.removesuffix(_SUFFIX) for file in _shipped_files()]
        ways = f"there are {', '.join(names)}; name your own by its path, such as ./drive.toml"
        raise UsageError(f"there is no preset {name_or_path!r}: {did_you_mean(name_or_path, names, ways)}")
    path = Path(name_or_path)
    try:
        with path.open("rb") as own:
            content = own.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError(f"{path} has more than {_MOST_BYTES:,} bytes: it is not a preset")
        text = content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"can't read the preset {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the preset {path} is not UTF-8 text: {error.reason} at byte {error.start}"
        ) from error
    return _parse(text, str(path.resolve()), str(path))


def _shipped_files() -> list[Traversable]:
    folder = resources.files("openpts_sim") / "presets"
    return sorted(
        (file for file in folder.iterdir() if file.name.endswith(_SUFFIX)), key=lambda file: file.name
    )


def _parse(text: str, place: str, file_name: str) -> Preset:
    try:
        preset = Preset(text, place)
    except ValueError as error:
        raise UsageError(f"the preset {file_name} is invalid: {error}") from error
    for file in _shipped_files() if place != SHIPPED else ():
        if file.name == preset.name + _SUFFIX and file.read_text(encoding="utf-8") != text:
            # in a report an edited copy must not pass for the one that ships
            preset.label = f"{preset.name} as edited in {Path(file_name).name}"
    return preset


# A drive of this size has its tables in under a hundred MB, and its runs take minutes.
SIMULATED_BYTES_AT_MOST: Final = 24 * GB
# Below this number of superblocks each of them shows as a step in the curve.
FEWEST_SUPERBLOCKS: Final = 300
# A phase should be so many times as long as what the one before leaves behind ...
SETTLINGS_PER_PHASE: Final = 20
# ... and says nothing at all if it is not even twice as long.
FEWEST_SETTLINGS_PER_PHASE: Final = 2
# The buffer is not scaled: beyond this share of a burst it lifts the burst's figure.
BUFFER_SHARE_OF_BURST: Final = 0.1
# Map, reverse map, bitmap.
TABLE_BYTES_PER_PAGE: Final = 9.5
# Pages are numbered in 32 bits.
MOST_PAGES: Final = 2**32 - 2


class Severity(StrEnum):
    """What a concern is to lead to."""

    REFUSE = "refuse"
    WARN = "warn"


class ScaleConcern(Struct, frozen=True):
    """Why figures of a scaled drive would differ from those of the real one.

    ``message`` has the number, the limit and the next step; ``subject`` names the condition in a word or two.
    ``scale`` would do, None where none does.
    """

    severity: Severity
    subject: str
    message: str
    scale: int | None = None


def default_scale(preset: Preset, capacity_bytes: int) -> int:
    """The smallest scale that brings the simulated part to 24 GB or less; an oracle keeps its size."""
    if preset.model == "oracle":
        return 1
    return max(1, -(-capacity_bytes // SIMULATED_BYTES_AT_MOST))


def scale_concerns(
    preset: Preset, capacity_bytes: int, scale: int, steps: Sequence[Step]
) -> tuple[ScaleConcern, ...]:
    """What speaks against this scale for these steps, refusals first; empty if nothing does.

    ``steps`` are in the order in which they will run: one that follows an idle gap counts as a burst.
    """
    shape = preset.shape(capacity_bytes, scale)
    if shape is None:
        return ()
    found = [
        *_superblocks(shape, scale),
        *_phases(shape, scale, steps),
        *_bursts(shape, scale, steps),
        *_tails(shape, scale),
        *_pages(shape, scale),
    ]
    return tuple(sorted(found, key=lambda concern: concern.severity is not Severity.REFUSE))


def settled_step_ns(preset: Preset, capacity_bytes: int, scale: int, steps: Sequence[Step]) -> int:
    """The shortest length that gives no step a concern about its phase; 0 where nothing has to settle."""
    shape = preset.shape(capacity_bytes, scale)
    if shape is None:
        return 0
    settling_ns = max((_settling_ns(shape, stimulus) for _, stimulus, _ in _timed(steps)), default=0.0)
    return math.ceil(SETTLINGS_PER_PHASE * settling_ns * scale)


def size_concerns(
    preset: Preset, capacity_bytes: int, scale: int, available_memory_bytes: int | None
) -> tuple[ScaleConcern, ...]:
    """What speaks against so large or so small a drive, before one is made: pages and memory, superblocks."""
    shape = preset.shape(capacity_bytes, scale)
    if shape is None:
        return ()
    return (
        *_pages(shape, scale),
        *_memory(shape, scale, available_memory_bytes),
        *_superblocks(shape, scale),
    )


def expected_iops(shape: Shape, stimulus: Stimulus, *, fresh: bool = False) -> float:
    """About how many I/Os of this stimulus the drive does each second at most.

    Random writes are those of the steady state unless the drive is ``fresh``.
    """
    reads = stimulus.operations.read / max(1, stimulus.operations.read + stimulus.operations.write)
    collects = not fresh and stimulus.random_pct > 0
    return shape.expected_iops(stimulus.block_size_bytes, read_share=reads, collects=collects)


def _superblocks(shape: Shape, scale: int) -> Iterator[ScaleConcern]:
    if not shape.rows or shape.superblocks >= FEWEST_SUPERBLOCKS:
        return
    needed_bytes = FEWEST_SUPERBLOCKS * shape.superblock_user_bytes
    message = (
        f"the simulated {format_capacity(shape.user_bytes)} make {shape.superblocks} superblocks; "
        f"below {FEWEST_SUPERBLOCKS} each of them shows in the curve: "
    )
    if scale > 1:
        fitting = max(1, int(scale * (shape.user_bytes / needed_bytes)))
        message += f"take a scale of {fitting:,} or less"
        yield ScaleConcern(Severity.REFUSE, "superblocks", message, fitting)
    else:
        least = format_capacity(round(needed_bytes))
        yield ScaleConcern(Severity.WARN, "superblocks", message + f"take a capacity of {least} or more")


def _phases(shape: Shape, scale: int, steps: Sequence[Step]) -> Iterator[ScaleConcern]:
    """The phase that is shortest against what settles in it, and the names of all others too short."""
    short: list[tuple[float, Step, int, float]] = []
    rested = _after_rest(steps)
    for step, stimulus, length_ns in _timed(steps):
        # the buffer was emptied in the idle time as well, and reads fill none
        lengths = (
            (length_ns + rested.get(step, 0), shape.settling_ns),
            (length_ns, _queue_ns(shape, stimulus)),
        )
        settlings, counted_ns, settling_ns = min(
            (each_ns / scale / of_ns if of_ns else math.inf, each_ns, of_ns) for each_ns, of_ns in lengths
        )
        if settlings < SETTLINGS_PER_PHASE:
            short.append((settlings, step, counted_ns, settling_ns))
    if not short:
        return
    settlings, step, length_ns, settling_ns = min(short, key=lambda each: each[0])
    # what a drive in its own size is given is its figure, and no fault of the scale
    refused = settlings < FEWEST_SETTLINGS_PER_PHASE and scale > 1
    limit = FEWEST_SETTLINGS_PER_PHASE if refused else SETTLINGS_PER_PHASE
    enough_ns = limit * settling_ns
    fitting = int(length_ns / enough_ns)
    simulated = f" ({_milliseconds(length_ns / scale)} at scale {scale:,})" if scale > 1 else ""
    with_rest = " with the idle time before it" if length_ns != planned_length_ns(step.stop) else ""
    smaller = f"a scale of {fitting:,} or less, or " if fitting >= 1 else ""
    yield ScaleConcern(
        Severity.REFUSE if refused else Severity.WARN,
        "phase length",
        f"{step} lasts {format_duration(length_ns)}{with_rest}{simulated}, {settlings:.2g} times what buffer "
        f"and queue need to settle ({_milliseconds(settling_ns)}), and {limit} times are needed; "
        f"take {smaller}steps of at least {format_duration(round(enough_ns * scale))}"
        f"{_others_too_short(short, step, refused=refused)}",
        fitting or None,
    )


def _after_rest(steps: Sequence[Step]) -> dict[Step, int]:
    """The steps that only read and come after idle time wherever they come, with the least of that time."""
    found: dict[Step, int] = {}
    rest_ns = 0
    for step in steps:
        if not step.is_idle and not any(stimulus.operations.write for stimulus in step.stimuli):
            found[step] = min(found.get(step, rest_ns), rest_ns)
        rest_ns = (planned_length_ns(step.stop) or 0) if step.is_idle else 0
    return found


def _others_too_short(short: Sequence[tuple[float, Step, int, float]], worst: Step, *, refused: bool) -> str:
    """What else does not settle, each once with the least that it has: its figures are off as well.

    Where nothing will run, how many there are is enough: a test can have fifty of them.
    """
    least: dict[str, float] = {}
    for settlings, step, _, _ in short:
        if str(step) != str(worst):
            least[str(step)] = min(settlings, least.get(str(step), settlings))
    if not least:
        return ""
    if refused:
        return f"; {len(least)} other stimul{'us is' if len(least) == 1 else 'i are'} too short as well"
    named = ", ".join(f"{name} ({settlings:.2g} times)" for name, settlings in least.items())
    return f"; too short for {SETTLINGS_PER_PHASE} times are also: {named}"


def _timed(steps: Sequence[Step]) -> Iterator[tuple[Step, Stimulus, int]]:
    """The steps with I/O that time ends, what each issues, and how long it lasts."""
    for step in steps:
        length_ns = planned_length_ns(step.stop)
        if length_ns is not None:
            yield from ((step, stimulus, length_ns) for stimulus in step.stimuli)


def _settling_ns(shape: Shape, stimulus: Stimulus) -> float:
    """How far into a step of it what was before can reach: by the buffer, or by the queue."""
    return max(shape.settling_ns, _queue_ns(shape, stimulus))


def _queue_ns(shape: Shape, stimulus: Stimulus) -> float:
    """How long the drive needs for all that is outstanding at once, with every command at full speed.

    Trims move no data: what they take is not in a drive's rates.
    """
    if not (stimulus.operations.read or stimulus.operations.write):
        return 0.0
    return stimulus.toio / expected_iops(shape, stimulus, fresh=True) * NS_PER_S


def _bursts(shape: Shape, scale: int, steps: Sequence[Step]) -> Iterator[ScaleConcern]:
    """The shortest burst of writes after an idle gap, against the buffer, whose size is never scaled."""
    lengths = [
        length_ns
        for gap, burst in pairwise(steps)
        if gap.is_idle
        and any(stimulus.operations.write for stimulus in burst.stimuli)
        and (length_ns := planned_length_ns(burst.stop)) is not None
    ]
    if not lengths or not shape.buffer_bytes or scale == 1:
        return
    burst_bytes = min(lengths) / scale / NS_PER_S * shape.fresh_write_bytes_per_s
    share = shape.buffer_bytes / burst_bytes
    if share <= BUFFER_SHARE_OF_BURST:
        return
    fitting = max(1, int(scale * BUFFER_SHARE_OF_BURST / share))
    yield ScaleConcern(
        Severity.WARN,
        "bursts",
        f"the write buffer of {format_capacity(shape.buffer_bytes)} is {100 * share:.0f} % of what a burst "
        f"of {format_duration(min(lengths))} writes at scale {scale:,}: its figures are higher by up to "
        f"that; {100 * BUFFER_SHARE_OF_BURST:.0f} % is the limit: take a scale of {fitting:,} or less",
    )


def _tails(shape: Shape, scale: int) -> Iterator[ScaleConcern]:
    if scale > 1 and shape.rows and shape.rows != shape.rows_of_real_drive:
        yield ScaleConcern(
            Severity.WARN,
            "tails",
            f"superblocks have {shape.rows} rows at scale {scale:,} and {shape.rows_of_real_drive} in the "
            "drive that it stands for: percentiles from 99 on and maxima depend on that; "
            "compare them at equal scale and capacity only",
        )


def _pages(shape: Shape, scale: int) -> Iterator[ScaleConcern]:
    if shape.physical_pages > MOST_PAGES:
        yield ScaleConcern(
            Severity.REFUSE,
            "pages",
            f"the simulated drive has {shape.physical_pages:,} pages of 4 KiB; a map has "
            f"{MOST_PAGES:,} at most: take a scale of "
            f"{math.ceil(scale * shape.physical_pages / MOST_PAGES):,} or more",
        )


def _memory(shape: Shape, scale: int, available_bytes: int | None) -> Iterator[ScaleConcern]:
    needed_bytes = round(shape.physical_pages * TABLE_BYTES_PER_PAGE)
    if available_bytes is not None and needed_bytes > available_bytes:
        fitting = math.ceil(scale * needed_bytes / max(1, available_bytes))
        yield ScaleConcern(
            Severity.REFUSE,
            "memory",
            f"the tables of the simulated drive need {format_capacity(needed_bytes)}, "
            f"{format_capacity(available_bytes)} of memory are available: "
            f"take a scale of {fitting:,} or more",
        )


def _milliseconds(time_ns: float) -> str:
    return f"{format_latency_ms(time_ns)} ms"

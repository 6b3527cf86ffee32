"""What is to be issued, where random accesses go, and when: from the options of `openpts io`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from openpts.errors import UsageError
from openpts.fields.data_patterns import data_pattern
from openpts.fields.parsing import (
    amount_bytes,
    named_values,
    number,
    pair,
    refuse,
    the_one_given,
    transfer_size_bytes,
    whole_number,
)
from openpts.units import NS_PER_MS, NS_PER_US
from openpts.vocabulary.data import DataPattern, RandomData, VerifiedData
from openpts.vocabulary.placement import (
    Normal,
    Pareto,
    Placement,
    Segments,
    Uniform,
    UniqueLbas,
    Zipf,
    Zone,
    Zones,
)
from openpts.vocabulary.stimulus import (
    ActiveRange,
    BlockSize,
    Burst,
    ClosedLoop,
    DutyCycle,
    FixedRate,
    OperationWeights,
    Pacing,
    Poisson,
    Stimulus,
    ThinkTime,
)


def _pacing(words: Mapping[str, str | None]) -> Pacing:
    """The pacing of the one option that was given; a closed loop without one. Raises UsageError."""
    option = the_one_given(words)
    if option is None:
        return ClosedLoop()
    return PACINGS[option](option, words[option] or "")


def _above_zero(option: str, text: str) -> float:
    value = number(option, text)
    if value <= 0:
        refuse(option, text, "must be above 0")
    return value


def _duration_ns(option: str, text: str, unit_ns: int) -> int:
    duration_ns = round(_above_zero(option, text) * unit_ns)
    if not 0 < duration_ns < 2**62:
        refuse(option, text, "is out of range")
    return duration_ns


def _rate(option: str, text: str) -> Pacing:
    return FixedRate(_above_zero(option, text))


def _poisson(option: str, text: str) -> Pacing:
    return Poisson(_above_zero(option, text))


def _burst(option: str, text: str) -> Pacing:
    ios, period = pair(option, text, "@", "N@MS, N I/Os every MS milliseconds")
    burst = Burst(whole_number(option, ios), _duration_ns(option, period, NS_PER_MS))
    if not burst.ios:
        refuse(option, text, "a burst needs at least one I/O")
    return burst


def _duty(option: str, text: str) -> Pacing:
    on, off = pair(option, text, "/", "ON/OFF in milliseconds")
    return DutyCycle(_duration_ns(option, on, NS_PER_MS), _duration_ns(option, off, NS_PER_MS))


def _think(option: str, text: str) -> Pacing:
    return ThinkTime(_duration_ns(option, text, NS_PER_US))


PACINGS: Final[Mapping[str, Callable[[str, str], Pacing]]] = {
    "--rate": _rate,
    "--poisson": _poisson,
    "--burst": _burst,
    "--duty": _duty,
    "--think": _think,
}
"""Each option with what reads its word."""


def placement(words: Mapping[str, str | None]) -> Placement:
    """The placement of the one option that was given; uniform without one. Raises UsageError."""
    option = the_one_given(words)
    if option is None:
        return Uniform()
    return PLACEMENTS[option](option, words[option] or "")


def _zones(option: str, text: str) -> Placement:
    zones = []
    for word in text.split(","):
        weight, range_pct = pair(option, word, "/", "ACCESS/RANGE,... such as 50/5,30/15,20/80")
        zones.append(Zone(whole_number(option, weight), number(option, range_pct)))
    if sum(zone.weight for zone in zones) != 100:
        refuse(option, text, "the shares of accesses do not sum to 100")
    if abs(sum(zone.range_pct for zone in zones) - 100) > 1e-6:
        refuse(option, text, "the shares of the range do not sum to 100")
    return Zones(tuple(zones))


def _zipf(option: str, text: str) -> Placement:
    theta = number(option, text)
    if theta <= 0:
        refuse(option, text, "theta must be above 0")
    return Zipf(theta)


def _pareto(option: str, text: str) -> Placement:
    h = number(option, text)
    if not 0 < h < 0.5:
        refuse(option, text, "h must be between 0 and 0.5")
    return Pareto(h)


def _normal(option: str, text: str) -> Placement:
    mean_pct, deviation_pct = (number(option, word) for word in pair(option, text, ",", "MEAN,DEVIATION"))
    if mean_pct > 100 or not 0 < deviation_pct <= 100:
        refuse(option, text, "mean and deviation must be per cent of the range, the deviation above 0")
    return Normal(mean_pct, deviation_pct)


def _segments(option: str, text: str) -> Placement:
    count, size = pair(option, text, ":", "N:SIZE such as 16:1MiB")
    segments = Segments(whole_number(option, count), amount_bytes(option, size))
    if not segments.count:
        refuse(option, text, "at least one segment is needed")
    return segments


def _unique(option: str, text: str) -> Placement:
    return UniqueLbas(amount_bytes(option, text))


PLACEMENTS: Final[Mapping[str, Callable[[str, str], Placement]]] = {
    "--zones": _zones,
    "--zipf": _zipf,
    "--pareto": _pareto,
    "--normal": _normal,
    "--segments": _segments,
    "--unique": _unique,
}
"""Each option with what reads its word."""


_MOST_SIZES: Final = 64
_SMALLEST_SIZE_BYTES: Final = 512
_OPERATIONS: Final = ("read", "write", "trim", "flush", "fsync")


@dataclass(frozen=True, slots=True)
class StimulusWords:
    """The options as given; None for one that was not.

    ``placements`` and ``pacings`` have the words by the options' names.
    """

    bs: str = "4k"
    mix: str | None = None
    trim: int | None = None
    flush: int | None = None
    fsync: int | None = None
    ops: str | None = None
    pattern: str | None = None
    random_pct: int | None = None
    active_range: str = "0:100"
    align: str | None = None
    stride: str | None = None
    tc: int = 1
    qd: int = 32
    data: str | None = None
    placements: Mapping[str, str | None] = field(default_factory=dict)
    pacings: Mapping[str, str | None] = field(default_factory=dict)

    def stimulus(self) -> Stimulus:
        """The stimulus that the words describe. Raises UsageError where they make no sense together."""
        operations, random_pct = self._operations(), self._random_pct()
        return Stimulus(
            random_pct=random_pct,
            block_sizes=block_sizes(self.bs),
            operations=operations,
            tc=self.tc,
            qd=self.qd,
            active_range=active_range(self.active_range),
            placement=self._placement(random_pct),
            alignment_bytes=None if self.align is None else transfer_size_bytes("--align", self.align),
            stride_bytes=self._stride_bytes(random_pct),
            pacing=_pacing(self.pacings),
            data=self._data(operations),
        )

    def _operations(self) -> OperationWeights:
        others = {"trim": self.trim, "flush": self.flush, "fsync": self.fsync}
        if self.ops is None:
            read, write = read_write_mix("100/0" if self.mix is None else self.mix)
            return OperationWeights(read, write, **{name: weight or 0 for name, weight in others.items()})
        given = [f"--{name}" for name, value in {"mix": self.mix, **others}.items() if value is not None]
        if given:
            raise UsageError(
                f"--ops and {' and '.join(given)} exclude each other: give all operations with --ops"
            )
        weights = named_values("--ops", self.ops, dict.fromkeys(_OPERATIONS, whole_number))
        if not sum(weights.values()):
            refuse("--ops", self.ops, "the weights sum to 0")
        return OperationWeights(**weights)

    def _random_pct(self) -> int:
        if self.pattern is not None and self.random_pct is not None:
            raise UsageError("--pattern and --random-pct exclude each other: give one of them")
        if self.random_pct is not None:
            return self.random_pct
        return 0 if self.pattern == "sequential" else 100

    def _placement(self, random_pct: int) -> Placement:
        chosen = placement(self.placements)
        if not random_pct and not isinstance(chosen, Uniform):
            option = next(name for name, word in self.placements.items() if word is not None)
            raise UsageError(f"{option} applies to random accesses, and the stimulus has none")
        return chosen

    def _stride_bytes(self, random_pct: int) -> int | None:
        if self.stride is None:
            return None
        if random_pct == 100:
            raise UsageError(
                "--stride applies to sequential accesses, and the stimulus has none: see --pattern"
            )
        return transfer_size_bytes("--stride", self.stride)

    def _data(self, operations: OperationWeights) -> DataPattern:
        if self.data is None:
            return RandomData()
        data = data_pattern("--data", self.data)
        if not operations.write and not isinstance(data, VerifiedData):
            raise UsageError(f"--data {self.data!r} applies to writes, and the stimulus has none: see --mix")
        return data


def block_sizes(text: str) -> tuple[BlockSize, ...]:
    """The sizes of ``4k`` or of ``4k:67,8k:33``. Raises UsageError."""
    sizes = []
    for word in text.split(","):
        size, weighted, weight = word.partition(":")
        if weighted or "," in text:
            size, weight = pair("--bs", word, ":", "SIZE:WEIGHT,... such as 4k:67,8k:33")
        block_size_bytes = transfer_size_bytes("--bs", size)
        if block_size_bytes < _SMALLEST_SIZE_BYTES or block_size_bytes % _SMALLEST_SIZE_BYTES:
            refuse("--bs", size, "a transfer has whole sectors, of 512 bytes at least")
        sizes.append(BlockSize(block_size_bytes, whole_number("--bs", weight) if weight else 1))
    if len(sizes) > _MOST_SIZES:
        raise UsageError(f"--bs has {len(sizes)} sizes, more than {_MOST_SIZES}")
    if len({size.block_size_bytes for size in sizes}) < len(sizes):
        refuse("--bs", text, "a size is given twice")
    if not sum(size.weight for size in sizes):
        refuse("--bs", text, "the weights sum to 0")
    return tuple(sizes)


def read_write_mix(text: str) -> tuple[int, int]:
    """The per cent of reads and of writes in ``70/30``. Raises UsageError."""
    read, write = (
        whole_number("--mix", word) for word in pair("--mix", text, "/", "READ/WRITE such as 70/30")
    )
    if read + write != 100:
        refuse("--mix", text, "reads and writes do not sum to 100 per cent")
    return read, write


def active_range(text: str) -> ActiveRange:
    """The part of the LBAs in ``0:75``, in per cent. Raises UsageError."""
    start, end = (number("--range", word) for word in pair("--range", text, ":", "START:END such as 0:75"))
    if not 0 <= start < end <= 100:
        refuse("--range", text, "START must be below END, both in per cent of the LBAs")
    return ActiveRange(start, end)

"""Values that the kernel shows in files: what is read, how it is understood, and how often it is worth it.

The sampler opens the files once and reads them from their beginning each time, so that no path is looked
up and no program started while a drive is measured. One reading of a file may give many values.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from openpts.units import NS_PER_S

Values = Mapping[str, float]
"""By name; its last words are the unit: ``temperature_c``, ``others_read_bytes_per_s``."""

Understand = Callable[[Sequence[bytes], int], Values]
"""From the content of the files, in their order and empty where one can't be read, and the moment in ns."""


def _nothing(_contents: Sequence[bytes], _at_ns: int) -> Values:
    return {}


class Gauge(Struct, frozen=True):
    """Files that are read together.

    ``name`` is its line in the record, ``what`` says in words what is sampled, or is None where nothing is;
    ``source`` is where from, or why not. ``each``: it is read in one of so many periods of the sampler. A
    value is stored when it has moved by more than ``resolution`` and by more than ``share`` of what was
    stored last. ``is_long``: the kernel hands such a file over piece by piece. ``asks_drive``: for each
    reading the kernel sends a command to the drive. ``of_period``: a value is of the time since the reading
    before, of which that time is stored as well when it changes: then each value reaches back to the point
    before it. ``of_host``: all runs on this host have these files, so that one may read them for all;
    ``for_all``: what it understands is that of any run, too. ``ask``: the one content comes of a call, and no
    file is read.
    """

    name: str
    what: str | None
    source: str
    paths: tuple[Path, ...] = ()
    understand: Understand = _nothing
    each: int = 1
    resolution: float = 0.0
    share: float = 0.0
    is_long: bool = False
    asks_drive: bool = False
    of_period: bool = False
    of_host: bool = False
    for_all: bool = False
    ask: Callable[[], bytes] | None = None

    @property
    def is_read(self) -> bool:
        """Whether there is anything to read."""
        return bool(self.paths) or self.ask is not None


class Growth(Struct):
    """Turns counters into what they grew by in each second since the reading before."""

    _before: dict[str, float] = field(default_factory=dict)
    _at_ns: int = 0

    def per_s(self, counters: Values, at_ns: int) -> dict[str, float]:
        """Nothing of a counter that is new, or has gone back because it started again."""
        elapsed_s = (at_ns - self._at_ns) / NS_PER_S
        grown = {
            name: (value - self._before[name]) / elapsed_s
            for name, value in counters.items()
            if elapsed_s > 0 and value >= self._before.get(name, value + 1)
        }
        self._before, self._at_ns = dict(counters), at_ns
        return grown


def whole_number(content: bytes) -> int | None:
    """The one number of a file; None if it holds none."""
    text = content.strip()
    return int(text) if text.removeprefix(b"-").isdigit() else None


def known(values: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """The values that are known, by name."""
    return {name: value for name, value in values if value is not None}


def name_word(text: str) -> str:
    """A label of hardware as a part of a value's name: ``Package-0`` as ``package_0``."""
    word = "".join(c if c.isascii() and c.isalnum() else "_" for c in text.lower())
    return "_".join(filter(None, word.split("_")))

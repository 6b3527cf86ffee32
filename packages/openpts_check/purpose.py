"""What a purpose is: a question, the loads that it is put by, and three figures with published bounds.

Knows no test, no record and no page: a plug-in makes one of these and names it among its entry points, as
``purpose.NAME``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from openpts.did_you_mean import did_you_mean
from openpts.errors import UsageError
from openpts.plugins import Kind, load, offers
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import ActiveRange, StopRule, Stream

COMMITS: Final = "commits"
"""Name of the stream whose writes are each made durable before the next.

On a file these are appends of ``APPEND_BYTES`` with fdatasync; elsewhere pages, which is what appends become.
"""

FILES: Final = "files"
"""Name of the stream of small files: in a directory a write makes one with fsync, a read opens one cold.

Elsewhere these are writes and reads of the same sizes at random places.
"""

APPEND_BYTES: Final = 2300
"""What etcd writes to its log at a time, by the fio job that etcd's guides give."""


class Asked(Struct, frozen=True):
    """What the loads of a purpose are made of: the part that is ours, and the sizes and times chosen.

    ``load_ns`` is the length of one load.
    """

    part: ActiveRange
    part_bytes: int
    load_ns: int
    heat_ns: int = 0


class Load(Struct, frozen=True):
    """Streams side by side until ``stop``, or else for the length of a load.

    One that is done ``once`` comes behind all repeats: heat, and what is measured after it.
    """

    name: str
    streams: tuple[Stream, ...]
    stop: StopRule | None = None
    once: bool = False


class Seen(Struct, frozen=True):
    """What one repeat, or all of them together, measured: samples by the load's name.

    ``before`` and ``after`` are readings of the drive's own log around the entire run, if it has one.
    """

    loads: Mapping[str, Sequence[Sample]]
    before: HealthReading | None = None
    after: HealthReading | None = None

    def of(self, load: str) -> Sequence[Sample]:
        """The samples of a load; empty if it was not measured."""
        return self.loads.get(load, ())


class PublishedBound(Struct, frozen=True):
    """What a figure is held against, in the figure's unit, and where that was published."""

    value: float
    source: str
    is_least: bool = False

    def text(self, unit: str) -> str:
        """``at most 10 ms``."""
        return f"{'at least' if self.is_least else 'at most'} {self.value:,.6g} {unit}".rstrip()

    def keeps(self, value: float) -> bool:
        """Whether a value is within it."""
        return value >= self.value if self.is_least else value <= self.value


class PurposeFigure(Struct, frozen=True):
    """A figure that answers: how it is found in what a repeat measured, and what to do where it fails.

    ``of`` gives None where too little was measured, for the reason ``absent``. ``of_reads``: a page cache
    would make it better than the disk. ``needs_repeats`` is False for one that only the entire run has.
    ``is_optional``: where it was not measured, ``absent`` is said, and the others answer.
    """

    key: str
    label: str
    unit: str
    of: Callable[[Seen], float | None]
    bound: PublishedBound
    remedy: str
    decimals: int = 2
    absent: str = "not measured"
    of_reads: bool = False
    needs_repeats: bool = True
    is_optional: bool = False


class Shown(Struct, frozen=True):
    """Figures of one unit that are held against nothing, each by its own label: percentiles, block sizes."""

    label: str
    unit: str
    of: tuple[tuple[str, Callable[[Seen], float | None]], ...]


class CheckPurpose(Struct, frozen=True):
    """A question that people ask of a disk in use.

    ``size_bytes`` is the size of the file that it would like, ``least_bytes`` what it can't do without;
    ``fills``: the file is written once before, so that reads reach the flash. ``load_s`` is the length of one
    load. ``shown`` are further figures, held against nothing.
    ``mistakes`` are for the report: what people take the figures for that they are not.
    """

    name: str
    title: str
    question: str
    size_bytes: int
    least_bytes: int
    load_s: float
    loads: Callable[[Asked], tuple[Load, ...]]
    figures: tuple[PurposeFigure, ...]
    shown: tuple[Shown, ...] = ()
    fills: bool = True
    repeats: int = 3
    mistakes: tuple[str, ...] = ()
    heats: bool = False

    @property
    def timed_loads(self) -> int:
        """How many loads of each repeat last as long as asked; the others end by what they have done."""
        loads = self.loads(Asked(ActiveRange(), self.size_bytes, 0))
        return sum(load.stop is None and not load.once for load in loads)


_LISTED: Final = ("commit", "stream", "record", "kv", "desktop", "build", "kv-cache", "checkpoint")
"""The order of openpts' own: metadata have none."""
_ALSO: Final = {
    **dict.fromkeys(("etcd", "postgres", "mysql"), "commit"),
    "boot": "build",
    **dict.fromkeys(("llm", "model"), "stream"),
    "video": "record",
    **dict.fromkeys(("inference", "vllm", "lmcache"), "kv-cache"),
    "training": "checkpoint",
}
"""What a purpose is called, too."""
_SEVERAL: Final = {"ai": "stream (weights), kv-cache or checkpoint"}
"""What means several of them."""


def purpose_names() -> tuple[str, ...]:
    """The purposes that are installed, openpts' own first."""
    found = set(offers(Kind.PURPOSE))
    return (*(name for name in _LISTED if name in found), *sorted(found - set(_LISTED)))


def purpose_named(name: str, beside: tuple[str, ...] = ()) -> CheckPurpose:
    """A purpose by one of its names, imported now; an error lists those ``beside`` as well.

    Raises UsageError for one that is not there, PluginError for a broken one.
    """
    offer = offers(Kind.PURPOSE).get(_ALSO.get(name, name))
    if offer is None:
        known = (*purpose_names(), *beside)
        several = _SEVERAL.get(name.lower())
        meant = f"did you mean {several}?" if several else did_you_mean(name, (*known, *_ALSO))
        there = f"{meant} There" if meant else "there"
        raise UsageError(f"no purpose is called {name!r}: {there} are {', '.join(known)}")
    found: CheckPurpose = load(offer)
    return found


DEVICE_READS: Final = "device_read_bytes"
"""Bytes that the kernel has read from the whole disk, at a step's start and end."""

BUFFERED_LOOP: Final = "loop device without direct I/O"
"""What a disk's interface is where the page cache of this host answers for the file that it is made of."""

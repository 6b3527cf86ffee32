"""A job file of fio, and what each of its streams did, in one step or in several that are alike."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from openpts.escaped_text import visible_line
from openpts.units import NS_PER_S, S_PER_YEAR
from openpts.vocabulary.sample import Measured, Sample
from openpts.vocabulary.stimulus import Step

ALL_STREAMS: Final = "all"
"""In place of a stream's name: all of them together."""

LONGEST_NS: Final = S_PER_YEAR * NS_PER_S
"""No step of a job is cut short by that."""


class FioJob(Struct, frozen=True):
    """A job file: its lines, with what it includes in place, and its variables as ``NAME=VALUE``."""

    name: str
    lines: tuple[str, ...]
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def by_name(values: Iterable[str]) -> dict[str, str]:
    """What ``NAME=VALUE`` stand for."""
    return {name: value for name, _, value in (one.partition("=") for one in values)}


def kept_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines of a job file as a record keeps them: without blanks at their ends, tabs as blanks."""
    return tuple(visible_line(line.expandtabs()) for line in lines)


def parts_of(sample: Sample) -> Iterator[tuple[str, Measured]]:
    """Name and figures of each stream; a step that is idle has none."""
    parts: Sequence[Measured] = sample.streams or (sample,)
    yield from zip(names_of(sample.step), parts, strict=False)


def parts_named(samples: Iterable[Sample], name: str) -> list[Measured]:
    """The parts of a stream, or the steps as a whole."""
    if name == ALL_STREAMS:
        return list(samples)
    return [part for sample in samples for one, part in parts_of(sample) if one == name]


def stream_names(steps: Sequence[Step]) -> tuple[str, ...]:
    """Names of all streams of several steps, each once."""
    return tuple(dict.fromkeys(name for step in steps for name in names_of(step)))


def names_of(step: Step) -> tuple[str, ...]:
    """Names of the streams of a step; one without a name has the number of its place."""
    return tuple(stream.name or f"stream {place}" for place, stream in enumerate(step.streams, start=1))

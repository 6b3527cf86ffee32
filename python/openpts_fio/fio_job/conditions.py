"""What tests that apply job files of fio share: their conditions, and what each stream of a job did."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, ClassVar, Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.escaped_text import visible_line
from openpts.fields.conditions import Contradictions, ExtendedConditions
from openpts.fields.field import Field
from openpts.fields.kinds import SECONDS
from openpts.units import NS_PER_S, S_PER_YEAR
from openpts.vocabulary.condition_text import duration_text
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


def _longest_text(longest_ns: int) -> str:
    if longest_ns == LONGEST_NS:
        return "steps of a job as long as it has them"
    return f"steps of a job of {duration_text(longest_ns)} at the most"


class FioJobConditions(ExtendedConditions, frozen=True, kw_only=True):
    """Streams, places and lengths are those of a job file.

    ``time_scale`` shortens the durations, ramps and start delays in it, but no step to less than
    ``minute_ns``; ``longest_step_ns`` ends each of its steps, also one that ends by an amount.
    """

    unscaled: ClassVar[tuple[str, ...]] = ("longest_step_ns",)

    longest_step_ns: Annotated[
        int,
        Field(
            "Step of a job, at most",
            "End each step of a job after this time at the latest.",
            SECONDS,
            show=lambda conditions: (
                "" if conditions.longest_step_ns == LONGEST_NS else SECONDS.show(conditions.longest_step_ns)
            ),
            text=_longest_text,
        ),
    ] = LONGEST_NS
    sector_bytes: Annotated[int, Field("", free="the device's own")] = 512

    def lengthened(self, needed_ns: int, standard: Self, kept: Collection[str]) -> Self:
        """As for all tests; a step may then last as long as is needed."""
        longer = super().lengthened(needed_ns, standard, kept)
        if "longest_step_ns" in kept:
            return longer
        return replace(longer, longest_step_ns=max(self.longest_step_ns, needed_ns))

    def contradictions(self, given: Collection[str]) -> Contradictions:
        """A job has its own places."""
        yield from super().contradictions(given)
        if "active_range" in given:
            yield ("active_range",), "a job file says where its I/Os go: use its offset and size"


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

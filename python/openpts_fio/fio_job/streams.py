"""What each stream of a job did, in one step or in several that are alike."""

from collections.abc import Iterable, Iterator, Sequence

from openpts.vocabulary.sample import Measured, Sample
from openpts.vocabulary.stimulus import Step
from openpts_fio.fio_job.conditions import ALL_STREAMS


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

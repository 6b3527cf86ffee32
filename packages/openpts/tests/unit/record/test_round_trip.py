"""Whatever an engine may hand over is read back from the record as the very same objects."""

import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from threading import Barrier, Thread
from typing import Annotated, Any, get_args

import hypothesis
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.procedures.registry import PROCEDURES
from openpts.record.decoding import decode_json
from openpts.record.manifest import Manifest, manifest_of
from openpts.record.reader import stored_run
from openpts.record.writer import DATABASE_NAME, RunWriter
from openpts.vocabulary.facts import PurgeReport
from openpts.vocabulary.requests import CycleFinished
from openpts.vocabulary.sample import (
    NOTHING,
    Interval,
    IoErrors,
    Measured,
    Phase,
    Sample,
    StepPlace,
    StepState,
)
from openpts.vocabulary.stimulus import DataPattern, Duration, Pacing, Placement, Step, Stimulus, StopRule
from tests.support.made_up_run import made_up_run
from tests.support.processes import in_process
from tests.support.record_parts import manifest, sample
from tests.support.vocabulary_values import values_of

# Each example is a database of its own, synced to the disk: no more of them than needed.
WITH_A_DISK = settings(
    max_examples=settings().max_examples // 4, phases=set(hypothesis.Phase) - {hypothesis.Phase.explain}
)


def kept(samples: Sequence[Sample], *, interval_histograms: bool = True) -> list[Sample]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        writer = RunWriter.create(folder, manifest())
        for position, one in enumerate(samples):
            writer.add_step(StepPlace(1, Phase.ROUND, 1, position), one)
        writer.close()
        return [step.sample for step in stored_run(folder, interval_histograms=interval_histograms).steps]


def read_back(written: Manifest) -> Manifest:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        RunWriter.create(folder, written).close()
        return stored_run(folder).manifest


def numbered(one: Sample) -> Sample:
    """Its intervals one behind the other, as an engine has them, with a part of each of several streams; what
    is carried on and the drive's own counts are read apart from steps.
    """
    count = len(one.step.streams) if len(one.step.streams) > 1 else 0
    given = tuple(replace(part, cpu=None) for part in one.streams)
    parts = tuple(islice(cycle(given), count))

    def of_interval(interval: Interval) -> tuple[Measured, ...]:
        some = (*interval.streams, Measured(read=NOTHING, write=NOTHING, elapsed_ns=0, cpu=None))
        changed = (replace(part, cpu=None, elapsed_ns=interval.elapsed_ns) for part in some)
        return tuple(islice(cycle(changed), count if parts else 0))

    intervals = tuple(
        replace(interval, index=n, streams=of_interval(interval)) for n, interval in enumerate(one.intervals)
    )
    replays = [n for n, stream in enumerate(one.step.streams) if stream.replay is not None]
    played = tuple(replace(some, stream=n) for n, some in zip(replays, one.played, strict=False))
    return replace(one, intervals=intervals, streams=parts, played=played, carried="", counted=())


@pytest.mark.proves("PTS-CBW-16", "PTS-CBW-23", "PTS-CBW-26", "PTS-DIRTH-09", "PTS-DIRTH-15", "PTS-DIRTH-18")
@pytest.mark.proves(
    "PTS-SS-06", "PTS-IOPS-15", "PTS-TP-13", "PTS-TOOL-11", "PTS-HIR-08", "PTS-XSR-14", "PTS-WSAT-11"
)
@WITH_A_DISK
@given(st.lists(values_of(Sample).map(numbered), min_size=1, max_size=3))
def test_any_samples_come_back_the_same(samples) -> None:
    assert kept(samples) == samples


@pytest.mark.proves(
    "PTS-IOPS-03",
    "PTS-IOPS-08",
    "PTS-TP-04",
    "PTS-LAT-03",
    "PTS-WSAT-03",
    "PTS-XSR-04",
    "PTS-XSR-08",
    "PTS-XSR-11",
    "PTS-CBW-13",
    "PTS-DIRTH-06",
)
@pytest.mark.parametrize("kind", [test.conditions for test in PROCEDURES.values()], ids=list(PROCEDURES))
@settings(max_examples=2)
@given(data=st.data())
def test_the_conditions_of_every_test_come_back_the_same(kind, data) -> None:
    conditions = data.draw(values_of(kind))
    given_manifest = replace(manifest(), conditions=conditions)
    assert read_back(given_manifest) == given_manifest


@WITH_A_DISK
@given(st.lists(values_of(CycleFinished), max_size=7).map(tuple), st.lists(values_of(PurgeReport)).map(tuple))
def test_every_cycle_comes_back_the_same(cycles, purges) -> None:
    given_manifest = replace(manifest(), cycles=cycles, purges=purges)
    assert read_back(given_manifest) == given_manifest


VARIANTS = [
    *(("placement", kind) for kind in get_args(Placement)),
    *(("pacing", kind) for kind in get_args(Pacing)),
    *(("data", kind) for kind in get_args(DataPattern)),
]


OF_THEIR_TESTS = [(name, section) for name, test in PROCEDURES.items() for section in test.sections]


@pytest.mark.parametrize(("name", "section"), OF_THEIR_TESTS)
def test_the_sections_of_a_test_come_back_the_same_and_of_no_other_type(name: str, section: str) -> None:
    entries = getattr(made_up_run(name).manifest, section)
    assert entries
    written = made_up_run(name).manifest
    assert getattr(read_back(written), section) == entries
    with pytest.raises(RecordError, match=rf"at {section}\[0\]"):
        read_back(replace(written, **{section: ("of another type",)}))


def test_a_test_may_have_sections_that_openpts_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = manifest().conditions.test
    with_laps = replace(PROCEDURES[name], sections={"laps": "openpts.vocabulary.sample:StepPlace"})
    monkeypatch.setattr("openpts.record.manifest.procedure_of", lambda _test: with_laps)
    manifest_of.cache_clear()
    laps = (StepPlace(1, Phase.ROUND, 1, 0), StepPlace(1, Phase.ROUND, 2, 0))
    writer = RunWriter.create(tmp_path / "run", manifest())
    assert stored_manifest_of(tmp_path / "run").laps == ()
    writer.update_manifest(laps=laps)
    writer.close()
    assert stored_manifest_of(tmp_path / "run").laps == laps
    manifest_of.cache_clear()


def stored_manifest_of(folder: Path) -> Any:
    return stored_run(folder).manifest


@pytest.mark.parametrize(("field", "kind"), VARIANTS, ids=[kind.__name__ for _, kind in VARIANTS])
@settings(max_examples=3)
@given(data=st.data())
def test_every_kind_of_stimulus_comes_back_the_same(field, kind, data) -> None:
    stimulus = data.draw(values_of(Stimulus, **{field: values_of(kind)}))
    given_sample = replace(sample(), step=Step.of(stimulus, Duration(1)))
    assert isinstance(getattr(stimulus, field), kind)
    assert kept([given_sample]) == [given_sample]


@pytest.mark.parametrize("kind", get_args(StopRule), ids=lambda kind: kind.__name__)
@settings(max_examples=3)
@given(data=st.data())
def test_every_stop_rule_comes_back_the_same(kind, data) -> None:
    given_sample = replace(sample(), step=Step.of(sample().step.stimulus, data.draw(values_of(kind)), 7))
    assert kept([given_sample]) == [given_sample]


def test_the_largest_numbers_of_a_program_are_kept_exactly() -> None:
    # A generation has 64 bits in the engine; a float's shortest text must give the same float.
    data = {"type": "verified", "generation": 2**64 - 1}
    placement = {"type": "zipf", "theta": 0.1 + 0.2}
    plain = msgspec.to_builtins(sample().step.stimulus)
    stimulus = msgspec.convert({**plain, "data": data, "placement": placement}, Stimulus)
    (read,) = kept([replace(sample(), step=Step.of(stimulus, Duration(2**64 - 1)))])
    assert read.step.stop == Duration(2**64 - 1)
    assert msgspec.to_builtins(read.step.stimulus) == {**plain, "data": data, "placement": placement}


def test_an_idle_gap_is_a_step_without_a_stimulus() -> None:
    gap = replace(
        sample(), step=Step.of(None, Duration(10**9)), read=NOTHING, write=NOTHING, gap_ns=None, intervals=()
    )
    (read,) = kept([gap])
    assert read == gap
    assert read.step.stimulus is None


def test_errors_keep_their_order_and_their_places() -> None:
    errors = (
        IoErrors("write", "Input/output error (EIO)", 2**40, (2**50, 0, 4096)),
        IoErrors("write", "No space left on device (ENOSPC)", 1, (0,)),
        IoErrors("flush", "Input/output error (EIO)", 3, ()),
    )
    went_on = replace(sample(), errors=errors)
    assert kept([went_on, replace(sample(), state=StepState.INTERRUPTED)])[0] == went_on


def without_histograms(one: Sample) -> Sample:
    def bare(interval: Any) -> Any:
        names = {name: replace(o, histogram=b"") for name, o in interval.operations.items()}
        return replace(interval, **names)

    return replace(one, intervals=tuple(bare(interval) for interval in one.intervals))


def test_histograms_of_intervals_are_read_where_they_are_asked_for() -> None:
    given_sample = sample()
    assert any(interval.read.histogram for interval in given_sample.intervals)
    assert kept([given_sample], interval_histograms=True) == [given_sample]
    assert kept([given_sample], interval_histograms=False) == [without_histograms(given_sample)]


def test_operations_without_an_io_take_no_row(tmp_path) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    writer.add_step(StepPlace(1, Phase.WIPC, 1, 0), sample())
    writer.close()
    connection = sqlite3.connect(tmp_path / "run" / DATABASE_NAME)
    stored = [
        sorted(connection.execute(f"SELECT operation FROM {table}").fetchall())
        for table in ("operation", "interval_operation")
    ]
    connection.close()
    assert stored == [[("flush",), ("read",), ("trim",)], [("flush",), ("read",), ("read",), ("trim",)]]


THREADS, TYPES, FIELDS = 4, 40, 200


def decoded_in_threads() -> list[int]:
    """The last field of each type from each thread; msgspec alone ends the process here."""
    sys.setswitchinterval(1e-6)
    numbers = range(FIELDS)
    kinds = [
        msgspec.defstruct(
            f"Kind{kind}", [(f"f{n}", Annotated[int, Meta(ge=n + kind)] | None) for n in numbers]
        )
        for kind in range(TYPES)
    ]
    text = msgspec.json.encode({f"f{n}": 1000 + n for n in numbers})
    begun, found = Barrier(THREADS), list[int]()

    def use() -> None:
        for kind in kinds:
            begun.wait()
            found.append(getattr(decode_json(text, kind), f"f{FIELDS - 1}"))

    threads = [Thread(target=use) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_a_type_is_first_used_by_one_thread() -> None:
    assert in_process(decoded_in_threads) == [1000 + FIELDS - 1] * (THREADS * TYPES)

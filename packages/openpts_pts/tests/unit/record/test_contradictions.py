"""A record that was changed in one place is refused, by step and field; one that openpts wrote is not."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.cli.main import cli
from openpts.errors import RecordError
from openpts.record.contradictions import refuse_contradictions
from openpts.record.reader import Run, read_run
from openpts.record.writer import DATABASE_NAME
from openpts.units import KIB
from openpts.vocabulary.sample import NOTHING, OperationSample, Phase, Sample, StepPlace
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, BlockSize, Stimulus, Stream, Zone, Zones
from tests.support.shortened_runs import SMALL, shortened_run

FIRST_ROUND = "step_id = (SELECT min(step_id) FROM step WHERE part = 'round')"
LATER = "step_id = (SELECT min(step_id) + 3 FROM step WHERE part = 'round')"

CHANGES = {
    "ios": (f"UPDATE operation SET ios = ios * 11 / 10 WHERE {FIRST_ROUND}", "round 1, step 1: read: ios is"),
    "one I/O more": (f"UPDATE operation SET ios = ios + 1 WHERE {LATER}", "round 1, step 4: "),
    "bytes": (f"UPDATE operation SET bytes = bytes + 1 WHERE {FIRST_ROUND}", "read: bytes is"),
    "sum": (f"UPDATE operation SET latency_sum_ns = latency_sum_ns + 1 WHERE {LATER}", "latency_sum_ns is"),
    "minimum": (f"UPDATE operation SET latency_min_ns = 1 WHERE {LATER}", "latency_min_ns is 1, and by its"),
    "maximum": (
        f"UPDATE operation SET latency_max_ns = latency_max_ns * 2 WHERE {LATER}",
        "latency_max_ns is",
    ),
    "no extremes": (
        f"UPDATE operation SET latency_min_ns = NULL WHERE {LATER}",
        "latency_min_ns is None, and by its histogram",
    ),
    "an interval's ios": (
        f"UPDATE interval_operation SET ios = ios + 1 WHERE {LATER} AND interval_index = 0",
        "interval 0: ",
    ),
    "an interval less": (f"DELETE FROM interval WHERE {LATER} AND interval_index = 0", "round 1, step 4: "),
    "an interval's length": (f"UPDATE interval SET elapsed_ns = 7 WHERE {LATER}", "elapsed_ns is not"),
    "errors": (
        f"UPDATE interval SET errors = 5 WHERE {LATER} AND interval_index = 0",
        "have 5 errors, the step 0",
    ),
    "elapsed": (f"UPDATE step SET elapsed_ns = 1 WHERE {LATER}", "elapsed_ns is 1, and its last interval"),
    "block size": (f"UPDATE step SET stimulus = replace(stimulus, '8192', '4096') WHERE {LATER}", "bytes is"),
    "idle": (f"UPDATE step SET stimulus = NULL WHERE {LATER}", "it has no stimulus and counts I/Os"),
    "place": (f"UPDATE step SET position = 0 WHERE {LATER}", "another step has the same place"),
    "step": (f"DELETE FROM step WHERE {LATER}", "table operation has rows of step_id"),
    "conditions": (
        "UPDATE manifest SET json = replace(json, '\"qd\":1', '\"qd\":2') WHERE section = 'conditions'",
        "its manifest is not the one that section sha256",
    ),
    "no histogram": (f"UPDATE operation SET histogram = x'' WHERE {LATER}", "I/Os and has no histogram"),
    "histogram": (f"UPDATE operation SET histogram = x'00ff' WHERE {LATER}", "its histogram is not an HdrH"),
}


@pytest.fixture(scope="module")
def latency_run(tmp_path_factory) -> Run:
    return shortened_run("lat", tmp_path_factory.mktemp("lat") / "run")


@pytest.fixture(scope="module")
def throughput_run(tmp_path_factory) -> Run:
    """At a scale of 3: each I/O of the record stands for three, and threads tile what is no multiple."""
    return shortened_run("tp", tmp_path_factory.mktemp("tp") / "run", target=f"{SMALL}&scale=3")


def changed(run: Run, folder: Path, statement: str) -> Path:
    """A copy of a run folder with a change to at least one row."""
    shutil.copytree(run.folder, folder)
    connection = sqlite3.connect(folder / DATABASE_NAME)
    assert connection.execute(statement).rowcount > 0
    connection.commit()
    connection.close()
    return folder


@pytest.mark.parametrize(("statement", "reason"), CHANGES.values(), ids=CHANGES)
def test_a_change_in_one_place_is_refused_by_its_step_and_field(
    latency_run, tmp_path, statement, reason
) -> None:
    with pytest.raises(RecordError) as refused:
        read_run(changed(latency_run, tmp_path / "run", statement))
    assert reason in str(refused.value)
    assert str(tmp_path) in str(refused.value)


def test_an_interval_histogram_is_held_against_its_interval(latency_run, tmp_path) -> None:
    statement = (
        "UPDATE interval_operation SET histogram = (SELECT histogram FROM operation WHERE step_id = 1)"
    )
    folder = changed(latency_run, tmp_path / "run", statement)
    read_run(folder)
    with pytest.raises(RecordError, match=r"interval 0: .*histogram has"):
        read_run(folder, interval_histograms=True)


@pytest.mark.parametrize(
    "words", [["report", "--no-html", "--no-pdf"], ["verify", "--requirements"], ["compare"], ["verify"]]
)
def test_every_command_that_reads_records_refuses_one(latency_run, tmp_path, words, golden) -> None:
    folder = changed(latency_run, tmp_path / "run", CHANGES["ios"][0])
    if words == ["verify"]:
        report = CliRunner().invoke(cli, ["report", str(latency_run.folder), "--no-html", "--no-pdf"])
        assert report.exit_code == 0, report.output
        shutil.copy(latency_run.folder / "report.json", folder)
    others = [str(latency_run.folder)] if words == ["compare"] else []
    done = CliRunner().invoke(cli, [*words, str(folder), *others])
    assert isinstance(done.exception, RecordError), done.output
    assert str(done.exception) == golden


def test_at_a_scale_ten_per_cent_more_bytes_or_ios_of_a_sequence_are_seen(throughput_run, tmp_path) -> None:
    assert throughput_run.manifest.target.scale == 3
    assert throughput_run == read_run(throughput_run.folder)
    for number, change in enumerate(("bytes = bytes * 10 / 11", "ios = ios * 11 / 10", "ios = ios + 1")):
        folder = changed(throughput_run, tmp_path / str(number), f"UPDATE operation SET {change}")
        with pytest.raises(RecordError, match="contradicts itself in WIPC, step 1: write: "):
            read_run(folder)


SIZES = (BlockSize(4 * KIB, 3), BlockSize(8 * KIB, 1))
MIXED = replace(
    Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 1, 1, ActiveRange()),
    block_sizes=SIZES,
    placement=Zones((Zone(1, 50), Zone(1, 50))),
)


def mixed_sample(run: Run, **changes: object) -> Sample:
    """300 writes of 4 KiB and 100 of 8 KiB in two zones, 1,000 ns each."""
    written = OperationSample(400, 500 * 4 * KIB, 400_000, 1000, 1000, encode_counts([(1000, 400)]))
    whole = replace(
        run.steps[0].sample,
        step=replace(run.steps[0].sample.step, streams=(Stream(MIXED),)),
        read=NOTHING,
        write=written,
        intervals=(),
        ios_by_block_size=(300, 100),
        ios_by_zone=(150, 250),
    )
    return replace(whole, **changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"ios_by_block_size": (300, 101)}, "ios_by_block_size has 401 of 400 I/Os"),
        ({"ios_by_block_size": (301, 99)}, r"bytes is 2,048,000, and by ios_by_block_size 2,043,904"),
        ({"ios_by_zone": (150, 249)}, "ios_by_zone has 399 of 400"),
        ({"ios_by_zone": (400,)}, "ios_by_zone has"),
        ({"ios_by_block_size": (), "ios_by_zone": ()}, ""),
    ],
)
def test_counts_by_size_and_zone_add_up(latency_run, changes, reason) -> None:
    steps = [(StepPlace(1, Phase.ROUND, 1, 0), mixed_sample(latency_run, **changes))]
    if not reason:
        return refuse_contradictions(Path("run"), latency_run.manifest, steps)
    with pytest.raises(RecordError, match=reason):
        refuse_contradictions(Path("run"), latency_run.manifest, steps)
    return None

"""Whole runs on simulated drives, through the same runner, record and report as any other."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.errors import InterruptedRunError, PurgeError, RunFailedError, TargetError, UsageError
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import read_run
from openpts.report.run_part import summarize
from openpts.report.sources import ReportSource
from openpts.report.write import ReportOptions, write_report
from openpts.runner.events import Event, PurgeFinished, StepFinished, Ticked
from openpts.units import KIB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import SIMULATED_PURGE, TargetKind
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.sample import Phase, StepPlace, StepState
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TrackingVariable
from tests.support.one_point import run_one_point
from tests.support.oracle_presets import CAPACITY_BYTES, write_oracle
from tests.support.transcript import Golden

STEADY = [1000.0]
READS = TrackingVariable(AccessPattern.RANDOM, 4 * KIB, 100)


def test_the_record_knows_what_was_simulated(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, STEADY)
    finished = run_one_point(f"{preset}?seed=42", tmp_path / "run", step_s=1)
    manifest = read_run(finished.folder).manifest
    assert manifest.state is RunState.COMPLETE
    assert manifest.target.kind is TargetKind.SIMULATED
    assert manifest.target.user_capacity_bytes == CAPACITY_BYTES
    simulation = manifest.target.simulation
    assert simulation is not None
    assert (simulation.preset, simulation.scale, simulation.seed) == ("oracle-of-a-test", 1, 42)
    assert simulation.simulated_bytes == CAPACITY_BYTES
    assert manifest.dut["serial"].value == "SIM002A"
    assert manifest.engine["engine"].value == "simulated drive"
    assert manifest.engine["clock"].value == "virtual"
    assert "io_path" not in manifest.engine


@pytest.mark.proves("PTS-GEN-05")
def test_no_simulated_run_is_conformant(tmp_path: Path, golden: Golden) -> None:
    run = read_run(run_one_point(write_oracle(tmp_path, STEADY), tmp_path / "run").folder)
    assert run.ledger[0].rule_id == "PTS-GEN-05"
    assert run.ledger[0].used == golden
    assert summarize(run)["simulated"].startswith("SIMULATED, preset oracle-of-a-test, scale 1:1")


def without_dates(manifest: Manifest) -> Manifest:
    purges = tuple(replace(purge, started_at="") for purge in manifest.purges)
    attempts = tuple(replace(attempt, started_at="") for attempt in manifest.attempts)
    return replace(manifest, test_id="", started_at="", ended_at="", purges=purges, attempts=attempts)


@pytest.mark.proves("SOL-GEN-01")
@pytest.mark.parametrize("target", ["oracle", "enterprise-tlc?capacity=8GB&scale=2"])
def test_equal_orders_leave_equal_run_folders(tmp_path: Path, target: str) -> None:
    if target == "oracle":
        target = str(write_oracle(tmp_path, [1000, 800.5, 900]))
    folders = [
        run_one_point(target, tmp_path / name, step_s=2, max_rounds=2).folder for name in ("first", "second")
    ]
    first, second = (read_run(folder, interval_histograms=True) for folder in folders)
    assert first.steps == second.steps
    assert first.ledger == second.ledger
    assert without_dates(first.manifest) == without_dates(second.manifest)
    assert list(first.manifest.engine) == list(second.manifest.engine)


def test_a_scale_leaves_times_and_counts_nominal(tmp_path: Path) -> None:
    """One in four is simulated, and all of them are told."""
    preset = write_oracle(tmp_path, STEADY)
    whole = read_run(run_one_point(preset, tmp_path / "whole", step_s=4).folder)
    scaled = read_run(run_one_point(f"{preset}?scale=4", tmp_path / "scaled", step_s=4).folder)
    assert scaled.manifest.target.user_capacity_bytes == CAPACITY_BYTES
    assert scaled.manifest.target.simulation is not None
    assert scaled.manifest.target.simulation.simulated_bytes == CAPACITY_BYTES // 4
    for one, other in zip(whole.steps, scaled.steps, strict=True):
        assert other.sample.iops == pytest.approx(one.sample.iops, rel=1e-6)
        # what is outstanding when the time is over is not scaled
        assert other.sample.elapsed_ns == pytest.approx(one.sample.elapsed_ns, rel=0.2)
        assert other.sample.bytes == other.sample.ios * one.sample.bytes // one.sample.ios
    assert scaled.steps[0].sample.bytes == 2 * CAPACITY_BYTES


def test_a_purge_is_proven_by_what_was_written_before(tmp_path: Path) -> None:
    heard: list[Event] = []
    preset = write_oracle(tmp_path, STEADY)
    finished = run_one_point(preset, tmp_path / "run", step_s=1, listeners=(heard.append,))
    (report,) = [event.report for event in heard if isinstance(event, PurgeFinished)]
    assert (report.ran, report.method) == (True, SIMULATED_PURGE)
    assert report.changed_samples == report.samples > 0
    assert read_run(finished.folder).manifest.purges == (report,)


@pytest.mark.parametrize("purge", ["absent", "fails", "lies"])
def test_a_purge_that_does_not_purge_ends_the_run(tmp_path: Path, purge: str, golden: Golden) -> None:
    preset = write_oracle(tmp_path, STEADY, purge=purge)
    with pytest.raises(PurgeError) as raised:
        run_one_point(preset, tmp_path / "run", step_s=1)
    assert str(raised.value) == golden
    run = read_run(tmp_path / "run")
    assert run.manifest.state is RunState.FAILED
    assert not run.steps
    without = run_one_point(preset, tmp_path / "without", step_s=1, purge=PurgeChoice.NONE)
    assert "PTS-PRG-01" in {entry.rule_id for entry in read_run(without.folder).ledger}


@pytest.mark.proves("PTS-CACHE-01")
@pytest.mark.parametrize(
    ("cache", "drive_class", "required", "found", "deviates"),
    [
        ("write_cache = true", DriveClass.ENTERPRISE, "WCD", "WCD", False),
        ("write_cache = true", DriveClass.CLIENT, "WCE", "WCE", False),
        ("write_cache = false", DriveClass.CLIENT, "WCE", "WCE", False),
        ("", DriveClass.ENTERPRISE, "WCD", "no volatile cache", False),
        ("", DriveClass.CLIENT, "WCE", "no volatile cache", True),
    ],
)
def test_the_write_cache_is_set_as_the_test_wants_it(
    tmp_path: Path, cache: str, drive_class: DriveClass, required: str, found: str, deviates: bool
) -> None:
    preset = write_oracle(tmp_path, STEADY, oracle=cache)
    run = read_run(run_one_point(preset, tmp_path / "run", step_s=1, drive_class=drive_class).folder)
    (report,) = run.manifest.write_caches
    assert (report.required, report.actual) == (required, found)
    assert ("PTS-CACHE-01" in {entry.rule_id for entry in run.ledger}) is deviates


def test_a_drive_that_turns_read_only_leaves_an_honest_result(tmp_path: Path) -> None:
    # in the third round: preconditioning writes the capacity twice, each round 4 MB
    limit = 2 * CAPACITY_BYTES + 10_000_000
    preset = write_oracle(tmp_path, STEADY, extra=f"[oracle.errors]\nread_only_after_bytes = {limit}\n")
    with pytest.raises(RunFailedError, match="write of 4096 B at byte"):
        run_one_point(preset, tmp_path / "run", step_s=1)
    run = read_run(tmp_path / "run")
    assert run.manifest.state is RunState.FAILED
    assert [step.sample.state for step in run.steps[:-1]] == [StepState.COMPLETE] * 3
    last = run.steps[-1]
    assert (last.place, last.sample.state) == (StepPlace(1, Phase.ROUND, 3, 0), StepState.FAILED)
    assert last.sample.failure is not None
    assert last.sample.failure.operation == "write"
    assert summarize(run)["complete_rounds"] == 2
    written = write_report(
        ReportSource.of((tmp_path / "run",)), options=ReportOptions(html=False, pdf=False, csv=False)
    )
    assert json.loads(written.json.read_bytes())["red_line"].startswith("FAILED, SHORTENED RUN, SIMULATED")


def test_an_unreadable_sector_is_named(tmp_path: Path) -> None:
    every_page = list(range(0, CAPACITY_BYTES // 512, 8 * 16))  # one in sixteen
    preset = write_oracle(tmp_path, STEADY, extra=f"[oracle.errors]\nunreadable_lbas = {every_page}\n")
    with pytest.raises(RunFailedError, match="read of 4096 B at byte"):
        run_one_point(preset, tmp_path / "run", step_s=1, point=READS)
    failure = read_run(tmp_path / "run").steps[-1].sample.failure
    assert failure is not None
    assert failure.offset_bytes // 512 in every_page


def test_a_stop_keeps_what_was_simulated(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, [1e7], by="seconds")  # more I/Os than anybody waits for

    def stop(event: Event) -> None:
        if isinstance(event, Ticked) and event.place.phase is Phase.ROUND:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError):
        run_one_point(preset, tmp_path / "run", step_s=10**5, max_rounds=1, listeners=(stop,))
    run = read_run(tmp_path / "run")
    assert run.manifest.state is RunState.INTERRUPTED
    assert [(step.place.phase, step.sample.state) for step in run.steps] == [
        (Phase.WIPC, StepState.COMPLETE),
        (Phase.ROUND, StepState.INTERRUPTED),
    ]
    assert run.steps[-1].sample.iops == pytest.approx(1e7, rel=1e-3)


def test_events_come_in_the_order_of_the_script(tmp_path: Path) -> None:
    heard: list[Event] = []
    run_one_point(write_oracle(tmp_path, STEADY), tmp_path / "run", step_s=1, listeners=(heard.append,))
    finished = [event for event in heard if isinstance(event, StepFinished)]
    assert [(event.place.phase, event.place.number) for event in finished] == [
        (Phase.WIPC, 1),
        *((Phase.ROUND, number) for number in range(1, 6)),
    ]


def test_what_is_too_small_for_the_queue_is_refused_with_its_scale(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, STEADY)
    with pytest.raises(TargetError, match=r"too small for the queue.*at scale 1:64"):
        run_one_point(f"{preset}?scale=64", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_scale_under_which_figures_say_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="take a scale of"):
        run_one_point("enterprise-tlc?capacity=8GB&scale=64", tmp_path / "run", step_s=1)
    assert not (tmp_path / "run").exists()


def test_a_scale_that_bears_on_figures_is_in_the_ledger(tmp_path: Path) -> None:
    folder = run_one_point(
        "enterprise-tlc?capacity=8GB&scale=2", tmp_path / "run", step_s=2, max_rounds=1
    ).folder
    used = [entry.used for entry in read_run(folder).ledger]
    assert any(text.startswith("scale 1:2, which bears on: tails") for text in used)


# two seeds, one drive each: they differ where something is left to chance, and in what they are called
def test_the_seed_of_the_drive_is_its_serial_number(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, STEADY)
    serials = [
        read_run(run_one_point(f"{preset}?seed={seed}", tmp_path / str(seed), step_s=1).folder).manifest
        for seed in (1, 2)
    ]
    assert serials[0].dut["serial"] != serials[1].dut["serial"]
    unnamed = read_run(run_one_point(preset, tmp_path / "unnamed", step_s=1).folder).manifest
    assert unnamed.dut["serial"] == serials[0].dut["serial"]

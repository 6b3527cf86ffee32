from dataclasses import replace

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.report import iops
from openpts.report.standing import standing_of
from openpts.vocabulary.deviation import Deviation
from tests.support.report_cases import Reports

DEVIATION = Deviation("PTS-IOPS-14", "7.2", "60 s per step", "2 s per step", "caches weigh more")


@pytest.mark.parametrize(
    ("case", "red_line"),
    [
        ("steady", ""),
        ("not steady", ""),
        ("two rounds", "SHORTENED RUN ON A FILE - not a measurement of a raw drive after PTS"),
        ("interrupted", "INTERRUPTED RUN - not a measurement after PTS"),
        ("failed", "FAILED RUN - not a measurement after PTS"),
        ("nothing", "UNFINISHED RUN - not a measurement after PTS"),
        ("no half KiB", ""),
        ("simulated", "SIMULATED, preset enterprise-tlc, scale 1:67 - not a measurement of a drive"),
        (
            "simulated, shortened",
            "SHORTENED RUN, SIMULATED, preset enterprise-tlc, scale 1:67 - not a measurement of a drive",
        ),
    ],
)
def test_red_line_follows_from_the_facts(reports: Reports, case: str, red_line: str) -> None:
    assert reports(case).red_line == red_line


def test_red_lines_stand_in_each_test(reports: Reports) -> None:
    alerts = reports("two rounds").sections[0].alerts
    assert alerts[0] == reports("two rounds").red_line
    assert alerts[1] == "STEADY STATE NOT REACHED - 2 of 5 rounds completed"
    assert reports("not steady").sections[0].alerts == ("STEADY STATE NOT REACHED - last five Rounds shown",)
    assert reports("steady").sections[0].alerts == ()


@pytest.mark.parametrize(
    "change",
    [
        {"step_duration_ns": 1},
        {"precondition_passes": 1.5},
        {"read_pcts": (0,)},
        {"block_sizes_bytes": (4096,)},
    ],
)
def test_what_counts_as_shortened(reports: Reports, change: dict[str, object]) -> None:
    run = read_run(reports.folder("steady"))
    results = iops.analyse(run)
    assert not iops.shortened(run, results)
    conditions = replace(run.manifest.conditions, **change)  # type: ignore[arg-type]
    assert iops.shortened(replace(run, manifest=replace(run.manifest, conditions=conditions)), results)


def test_conformant_only_with_an_empty_ledger(reports: Reports) -> None:
    run = read_run(reports.folder("steady"))
    clean = standing_of(run, shortened=False)
    assert clean.conformant
    assert "this run is conformant" in clean.bottom_line
    deviating = standing_of(replace(run, ledger=(DEVIATION,)), shortened=False)
    assert not deviating.conformant
    assert "conformant" not in deviating.bottom_line
    stopped = replace(run, manifest=replace(run.manifest, state=RunState.INTERRUPTED))
    assert not standing_of(stopped, shortened=False).conformant
    assert "can't be called conformant" in standing_of(stopped, shortened=False).bottom_line


def test_the_ledger_is_printed(reports: Reports) -> None:
    assert "conformance-ledger" not in reports("steady").tables()
    row = reports("hostile").tables()["conformance-ledger"].rows[0]
    assert len(row.cells) == 4


def test_no_simulated_run_is_conformant_even_over_an_empty_ledger(reports: Reports) -> None:
    run = read_run(reports.folder("simulated"))
    assert run.ledger[0].rule_id == "PTS-GEN-05"
    standing = standing_of(replace(run, ledger=()), shortened=False)
    assert not standing.conformant
    assert "can't be called conformant: SIMULATED" in standing.bottom_line

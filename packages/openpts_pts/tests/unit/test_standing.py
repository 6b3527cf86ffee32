import pytest
from msgspec.structs import replace

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.vocabulary.facts import People
from openpts.vocabulary.verdict import Deviation
from openpts_pts.conformance.conformance import standing_of

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
def test_red_line_follows_from_the_facts(reports, case, red_line) -> None:
    assert reports(case).red_line == red_line


def test_a_loop_device_is_no_raw_drive(reports) -> None:
    run = read_run(reports.folder("steady"))
    entry = Deviation("PTS-GEN-05", "1.1", "block I/O to the device itself", "loop0", "more is measured")
    assert standing_of(replace(run, ledger=(entry,))).red_line == (
        "RUN ON A DEVICE MADE OF OTHER STORAGE - not a measurement of a raw drive after PTS"
    )


def test_red_lines_stand_in_each_test(reports) -> None:
    alerts = reports("two rounds").sections[0].alerts
    assert alerts[0] == reports("two rounds").red_line
    assert alerts[1] == "STEADY STATE NOT REACHED - 2 of 5 rounds completed"
    assert reports("not steady").sections[0].alerts == ("STEADY STATE NOT REACHED - last five Rounds shown",)
    assert reports("steady").sections[0].alerts == ()


def test_conformant_only_with_an_empty_ledger(reports, golden) -> None:
    run = read_run(reports.folder("steady"))
    clean = standing_of(run)
    assert clean.conformant
    assert clean.bottom_line == golden
    deviating = standing_of(replace(run, ledger=(DEVIATION,)))
    assert not deviating.conformant
    assert deviating.bottom_line == golden
    stopped = replace(run, manifest=replace(run.manifest, state=RunState.INTERRUPTED))
    assert not standing_of(stopped).conformant
    assert standing_of(stopped).bottom_line == golden


def test_no_simulated_run_is_conformant_even_over_an_empty_ledger(reports, golden) -> None:
    run = read_run(reports.folder("simulated"))
    assert run.ledger[0].rule_id == "PTS-GEN-05"
    standing = standing_of(replace(run, ledger=()))
    assert not standing.conformant
    assert standing.bottom_line == golden


def test_a_run_is_not_conformant_where_its_record_alone_shows_a_deviation(reports, golden) -> None:
    run = read_run(reports.folder("steady"))
    unsigned = replace(run, manifest=replace(run.manifest, people=People()))
    standing = standing_of(unsigned)
    assert not standing.conformant
    assert standing.bottom_line == golden

"""The sustained report of a drive whose figures are known."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from openpts.fields.conditions import Conditions
from openpts.pages.model import Figure, Report, Verdict
from openpts.procedures.extended.sustained.conditions import Claim, SustainedConditions
from openpts.report.build import build_report
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.stimulus import Stimulus
from tests.support.made_up_run import made_up_run

DATE = "2026-02-03T04:05:06Z"


def tired(stimulus: Stimulus, phase: Phase, number: int) -> float:
    """A load leaves 37 % of random writes and 90 % of everything else."""
    fresh = {(0, 0): 20_000, (0, 100): 25_000, (100, 0): 200_000, (100, 100): 500_000}[
        stimulus.random_pct, int(stimulus.read_pct)
    ]
    if phase is Phase.LOAD:
        return 80_000
    share = 1.0 if number == 1 else 0.37 if (stimulus.random_pct, stimulus.read_pct) == (100, 0) else 0.9
    return fresh * share


def report(claims: tuple[Claim, ...] = (), facts: Mapping[str, str] | None = None) -> Report:
    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, SustainedConditions)
        return changed(conditions, claims=claims, drive_fills=0.5)

    run = made_up_run("sustained", rate=tired, adjust=adjust)
    rated = {f"rated_{name}": Fact(value, "made up") for name, value in (facts or {}).items()}
    return build_report(replace(run, manifest=replace(run.manifest, dut=run.manifest.dut | rated)), DATE)


def texts(page_id: str, built: Report) -> list[str]:
    (page,) = [page for page in built.pages() if page.id == page_id]
    return [block.text for block in page.blocks if isinstance(block, Verdict)]


def test_both_runs_and_their_ratio() -> None:
    rows = {
        row.head.text: [cell.value for cell in row.cells]
        for row in report().tables()["sustained-pairs-2"].rows
    }
    assert rows["RND 4 KiB W"] == pytest.approx([200_000, 74_000, 37.0])
    assert rows["RND 4 KiB R"] == pytest.approx([500_000, 450_000, 90.0])
    megabytes = report().tables()["sustained-pairs-1"].rows[0].cells[0].value
    assert megabytes == pytest.approx(20_000 * 131_072 / 1e6)


def test_the_ratio_stands_at_the_bars() -> None:
    figures = {figure.number: figure for figure in report().figures()}
    bars = figures["Plot X-SUSTAINED-2"]
    assert isinstance(bars, Figure)
    assert bars.x.labels == ("RND 4 KiB W: 37 %", "RND 4 KiB R: 90 %")


def test_the_load_tells_its_length_and_its_slowest_answer() -> None:
    (load,) = texts("sustained-load", report())
    # 128 GiB of 4 KiB at 80,000 a second; TC x QD of 128 are answered in 1.6 ms each
    assert (
        "6 min 59 s, 137.4 GB written = 0.50 x User Capacity; ended by: 0.5 x user capacity written" in load
    )
    assert "33,554,432 I/Os: 1.60 ms" in load


def test_a_missed_claim_is_struck_through_and_a_kept_one_is_not() -> None:
    claims = (Claim("random_write", 200_000), Claim("sequential_read", 2500))
    built = report(claims)
    rows = {row.head.text: row.cells for row in built.tables()["sustained-claims-table"].rows}
    write, read = rows["RND 4 KiB W"], rows["SEQ 128 KiB R"]
    assert (write[1].text, write[1].struck) == ("200,000", True)
    assert (read[1].text, read[1].struck) == ("2,500", False)
    assert [cell.value for cell in write[2:5]] == pytest.approx([200_000, 74_000, 37.0])
    assert write[5].text == "never"  # the load was at 80,000 from the start
    assert read[5].note == "the load is RND 4 KiB RW0"
    assert "1 of 2 sustained; missed: RND 4 KiB W" in texts("sustained-claims", built)[1]


def test_the_drives_own_description_stands_in_and_that_is_said() -> None:
    built = report(facts={"random_write_iops": "70000"})
    (row,) = built.tables()["sustained-claims-table"].rows
    assert (row.cells[1].value, row.cells[1].struck) == (70_000, False)
    assert row.cells[5].text == "6 min 59 s"
    assert "the drive's own description" in texts("sustained-claims", built)[2]


def test_given_claims_win_over_the_description() -> None:
    built = report((Claim("random_read", 1000),), {"random_write_iops": "70000"})
    assert [row.head.text for row in built.tables()["sustained-claims-table"].rows] == ["RND 4 KiB R"]


def test_without_claims_there_is_nothing_to_hold_anything_against() -> None:
    (text,) = texts("sustained-claims", report())
    assert text.startswith("Claims: n/a")


def test_a_run_that_ended_in_its_load_has_no_ratio() -> None:
    run = made_up_run("sustained", rate=tired)
    cut = replace(
        run,
        steps=tuple(step for step in run.steps if step.place.number == 1),
        manifest=replace(run.manifest, cycles=()),
    )
    built = build_report(cut, DATE)
    row = built.tables()["sustained-pairs-2"].rows[0]
    assert [cell.tone for cell in row.cells] == ["", "missing", "missing"]
    (load,) = texts("sustained-load", built)
    assert "not completed" in load

"""The entropy report of a drive that compresses, whose every figure is known."""

from dataclasses import replace

import pytest

from openpts.pages.model import Report, Table, Verdict
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.vocabulary.data import DataCheck, ReducibleData
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.stimulus import Stimulus
from tests.support.made_up_run import made_up_run

DATE = "2026-02-03T04:05:06Z"


def compressing(stimulus: Stimulus, _phase: Phase, _number: int) -> float:
    """Random bytes take the flash's 10,000 I/Os a second; what is half as long goes twice as fast, to 4 x.

    A share w of writes makes a mix of 100,000 reads a second slower: w = 5 % leaves a third.
    """
    if isinstance(stimulus.data, ReducibleData):
        return 10_000 / max(0.25, stimulus.data.entropy_pct / 100)
    return 100_000 / (1 + 40 * (100 - stimulus.read_pct) / 100)


def sampled(run: Run) -> Run:
    check = DataCheck(ReducibleData(46), 47.8, 100, 4_194_304, "an engine into memory; a compressor")
    return replace(run, manifest=replace(run.manifest, data_checks=(check,)))


def report() -> Report:
    return build_report(sampled(made_up_run("entropy", rate=compressing)), DATE)


def table(table_id: str) -> Table:
    return report().tables()[table_id]


def verdicts(page_id: str) -> list[str]:
    (page,) = [page for page in report().pages() if page.id == page_id]
    return [block.text for block in page.blocks if isinstance(block, Verdict)]


def test_the_header_says_that_the_test_is_beyond_the_specification() -> None:
    (section,) = report().sections
    assert section.header.bar == "Methodology Report (not part of SNIA PTS)"
    assert not section.header.of_specification
    assert all(page.mandatory for page in section.pages)


def test_rates_by_entropy() -> None:
    rows = {row.head.text: row.cells for row in table("entropy-values-2").rows}
    assert {head: cells[0].value for head, cells in rows.items()} == pytest.approx(
        {"0": 40_000, "10": 40_000, "25": 40_000, "46": 10_000 / 0.46, "67": 10_000 / 0.67, "100": 10_000},
        rel=1e-6,
    )
    assert {cells[3].value for cells in rows.values()} == {0.0}
    megabytes = {row.head.text: row.cells[0].value for row in table("entropy-values-1").rows}
    assert megabytes["100"] == pytest.approx(10_000 * 131_072 / 1e6)


def test_what_was_verified_stands_beside_what_was_asked_for() -> None:
    verified = {row.head.text: row.cells[4] for row in table("entropy-values-1").rows}
    assert verified["46"].value == 47.8
    assert verified["0"].tone == "missing"
    assert "an engine into memory" in table("entropy-values-1").note


def test_the_verdict_has_its_rule_and_its_limit() -> None:
    sequential, random = verdicts("entropy-sweep")
    assert sequential.startswith(
        "SEQ 128 KiB W: data reduction seen. Rate at 0 % over rate at 100 % entropy: factor 4.00"
    )
    assert "99 % interval 4.00 to 4.00" in sequential
    assert "limit 1.05: seen if" in sequential
    assert "RND 4 KiB W: data reduction seen" in random


def test_what_a_few_writes_cost() -> None:
    loss, drift = verdicts("entropy-writes")
    assert "5 % writes cost 66.7 % of the IOPS of reads alone (100,000 to 33,333 IOPS)" in loss
    assert "0.0 %" in drift


def test_a_cost_within_the_drift_between_visits_is_not_shown() -> None:
    visits: dict[int, int] = {}

    def drifting(stimulus: Stimulus, _phase: Phase, _number: int) -> float:
        """Slower by 10 % on each level's second visit, and by 4 % with writes."""
        visits[stimulus.read_pct] = visits.get(stimulus.read_pct, 0) + 1
        rate = 100_000 if stimulus.read_pct == 100 else 96_000
        return rate * (0.9 if visits[stimulus.read_pct] > 1 else 1)

    built = build_report(made_up_run("entropy", rate=drifting), DATE)
    (page,) = [page for page in built.pages() if page.id == "entropy-writes"]
    loss = next(block.text for block in page.blocks if isinstance(block, Verdict))
    assert loss == (
        "RND 4 KiB: 5 % writes cost 4.0 % of the IOPS of reads alone (95,000 to 91,200 IOPS); "
        "not proven: visits of a level differ by up to 10.0 %."
    )


def test_a_run_that_ended_early_says_what_is_missing() -> None:
    run = made_up_run("entropy", rate=compressing)
    cut = replace(run, steps=tuple(step for step in run.steps if step.place.phase is Phase.CONDITIONING))
    pages = {page.id: page for page in build_report(cut, DATE).pages()}
    for page_id in ("entropy-sweep", "entropy-writes"):
        (block,) = pages[page_id].blocks
        assert isinstance(block, Verdict)
        assert "n/a" in block.text

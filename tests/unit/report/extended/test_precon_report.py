"""The report of the preconditioning comparison of a drive whose every figure in every state is known."""

import pytest
from msgspec.structs import replace as with_changes

from openpts.fields.conditions import Conditions
from openpts.pages.model import Report
from openpts.procedures.extended.precon.conditions import DriveState, PreconConditions
from openpts.procedures.extended.precon.report import report as content_of
from openpts.procedures.extended.precon.states import comparisons_of
from openpts.record.reader import Run
from openpts.report.build import build_report
from tests.support.made_up_run import made_up_run
from tests.unit.report.extended.known_drives import ByState

DATE = "2026-02-03T04:05:06Z"
FRESH, SEQUENTIAL, RANDOM = DriveState


def run() -> Run:
    def sooner(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, PreconConditions)
        return with_changes(conditions, steady_after_drive_fills=1)

    return made_up_run("precon", rate=ByState(), adjust=sooner)


def report() -> Report:
    return build_report(run(), DATE)


def test_what_was_written_before_a_row_is_told() -> None:
    (comparison,) = comparisons_of(run())
    fresh = comparison.rows[FRESH]
    assert [one.written_before_bytes for one in fresh[:1]] == [0]
    assert [one.conditioned for one in fresh] == [True, *[False] * 6]
    # three passes of 10 s: 300,000 x 128 KiB a second; 30 % of 100,000 x 4 KiB
    sequential, mixed = 30 * 300_000 * 131_072, 30 * 30_000 * 4096
    assert fresh[4].written_before_bytes == sequential
    assert fresh[5].written_before_bytes == sequential + mixed
    after = comparison.rows[SEQUENTIAL]
    # the mix and each of the random writes disturb what was written in order: the next row has it anew
    assert [after[place].conditioned for place in (4, 5, 6)] == [False, True, True]
    assert [after[place].written_before_bytes for place in (5, 6)] == [0, 0]
    # random rows keep the random state, so the sequential row comes last
    random = comparison.rows[RANDOM]
    assert random[1].written_before_bytes == mixed + 2 * 30 * 50_000 * 4096
    order = [row.head.text for row in report().tables()["precon-order-table"].rows]
    assert order[:5] == [
        "FOB: SEQ 128 KiB QD32 R",
        "FOB: RND 4 KiB QD32 R",
        "FOB: RND 4 KiB QD1 R",
        "FOB: SEQ 128 KiB QD32 W",
        "FOB: RND 4 KiB QD32 R70",
    ]
    assert order[-1] == "After RND: SEQ 128 KiB QD32 W"


def test_figures_for_machines() -> None:
    figures = content_of(run()).figures
    assert figures["courses"]["fresh"]["factor"] == pytest.approx(3)
    assert figures["courses"]["random"]["steady_after_s"] == pytest.approx(2 * 3600 + 60, rel=1e-5)
    write = figures["rows"][-1]
    assert (write["row"], write["counts"]) == ("RND 4 KiB QD32 Write", "random")
    assert (write["fresh"], write["sequential"], write["random"]) == (230e3, 200e3, 50e3)
    assert write["loss_random_pct"] == pytest.approx(78.2609, abs=5e-5)

"""What report, ledger and tables say of the seconds in which the host was the limit."""

import pytest
from msgspec.structs import replace

from openpts.pages.model import Block, Table, Verdict
from openpts.procedures.kit.host_limits import host_limit_deviations
from openpts.record.reader import Run
from openpts.report.host_limit_blocks import host_limit_blocks
from openpts.units import NS_PER_S
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import NOTHING, Interval
from tests.support.busy_host import SAMPLED, end_s, on_a_host
from tests.support.made_up_run import made_up_run
from tests.support.page_blocks import rows


@pytest.fixture(scope="module")
def measured() -> Run:
    """Preconditioning, rounds and histograms on a drive, whose record has nothing of its surroundings."""
    return made_up_run("lat")


def texts(blocks: tuple[Block, ...]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Verdict)]


def burdened(run: Run) -> Run:
    """A full link in the first half of the run, and a processor that is taken from the last step."""
    end, last = end_s(run), run.steps[-1].sample
    last_s = (last.started_ns - run.steps[0].sample.started_ns) / NS_PER_S
    return on_a_host(
        run,
        SAMPLED,
        path_0_use_pct=[(0, 0), (end / 2, 97), (end, 20)],
        engine_wait_pct=[(0, 0), (last_s, 1), (end, 60)],
    )


def test_the_page_names_what_was_the_limit_how_long_and_where(measured, snapshot) -> None:
    blocks = host_limit_blocks(burdened(measured))
    (table,) = (block for block in blocks if isinstance(block, Table))
    shown = {what: [cell.text for cell in row.cells] for what, row in rows(table).items()}
    assert (texts(blocks), shown) == snapshot


def test_the_times_are_those_of_the_steps(measured) -> None:
    run = burdened(measured)
    last = run.host_marks[-1]
    assert last.marked_ns() == last.judged_ns == run.steps[-1].sample.elapsed_ns
    assert run.host_marks[0].marked_ns() == run.steps[0].sample.elapsed_ns


def test_the_ledger_has_one_entry_for_each_part_of_the_host(measured, snapshot) -> None:
    entries = host_limit_deviations(burdened(measured))
    assert [entry.used.partition(":")[0] for entry in entries] == ["processor", "link"]
    assert [entry.used for entry in entries] == snapshot


def test_preconditioning_alone_makes_no_entry(measured, golden) -> None:
    results = [step for step in measured.steps if step.place.phase is not Phase.WIPC]
    begin_s = (results[0].sample.started_ns - measured.steps[0].sample.started_ns) / NS_PER_S
    run = on_a_host(measured, SAMPLED, engine_wait_pct=[(0, 0), (begin_s, 60), (end_s(measured), 0)])
    assert host_limit_deviations(run) == ()
    assert texts(host_limit_blocks(run))[0] == golden


@pytest.mark.parametrize(
    ("sampled", "values"),
    [
        (SAMPLED, {"engine_wait_pct": [(0.0, 1.0), (10.0**6, 1.0)]}),
        (SAMPLED, {}),
        ({}, {"engine_wait_pct": [(0.0, 99.0)]}),
    ],
    ids=["quiet", "not sampled", "an older record"],
)
def test_a_quiet_host_and_one_that_was_not_watched_are_told_apart(
    sampled, values, measured, snapshot
) -> None:
    ends = {name: [(min(at_s, end_s(measured)), value) for at_s, value in of] for name, of in values.items()}
    run = on_a_host(measured, sampled, **ends)
    assert host_limit_deviations(run) == ()
    assert texts(host_limit_blocks(run)) == snapshot


def test_the_table_of_intervals_names_the_limits(measured) -> None:
    last = measured.steps[-1].sample
    seconds = last.elapsed_ns // NS_PER_S
    intervals = tuple(
        Interval(read=NOTHING, write=NOTHING, elapsed_ns=NS_PER_S, cpu=None, index=n, in_flight=0, errors=0)
        for n in range(seconds)
    )
    step = replace(measured.steps[-1], sample=replace(last, intervals=intervals, interval_ns=NS_PER_S))
    run = burdened(replace(measured, steps=(*measured.steps[:-1], step)))
    assert run.frame("intervals")["host_limited"] == ["processor"] * seconds
    quiet = on_a_host(run, SAMPLED, engine_wait_pct=[(0, 0), (end_s(run), 0)])
    assert set(quiet.frame("intervals")["host_limited"]) == {""}
    assert set(replace(run, sampled=()).frame("intervals")["host_limited"]) == {None}

"""What of the response times of a latency test is the host's: in the ledger and beside the table."""

from statistics import fmean

import pytest
from msgspec.structs import replace

from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.units import KIB
from openpts.vocabulary.engine_overhead import KERNEL_THREADS, own_latency_facts, own_latency_ns
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.sample import Phase
from openpts_pages.model import Table, Verdict
from tests.support.findings import findings
from tests.support.made_up_run import made_up_run

REPORT_DATE = "2026-02-03T04:05:06Z"
RUN = made_up_run("lat")


def with_own_latency(asleep_ns: float, *, awake_ns: float = 200, path: str = "io_uring") -> Run:
    engine = {"io_path": Fact(path, "test"), **own_latency_facts(awake_ns, asleep_ns)}
    return replace(RUN, manifest=replace(RUN.manifest, engine=RUN.manifest.engine | engine))


def averages_ns() -> dict[tuple[int, int], float]:
    """By block size and share of reads over the last five rounds, straight from the samples."""
    steps = RUN.phase(Phase.ROUND)
    last = max(step.place.number for step in steps)
    found: dict[tuple[int, int], list[float]] = {}
    for step in steps:
        stimulus = step.sample.step.stimulus
        assert stimulus is not None
        if step.place.number > last - 5:
            key = (stimulus.block_size_bytes, stimulus.read_pct)
            found.setdefault(key, []).append(step.sample.mean_latency_ns or 0)
    return {key: fmean(values) for key, values in found.items()}


def own_entries(run: Run) -> list[str]:
    return [entry.used for entry in findings(run) if entry.rule_id == "PTS-DEF-03"]


@pytest.mark.proves("PTS-DEF-03")
def test_more_than_a_twentieth_of_an_average_is_entered_with_its_test_point(golden) -> None:
    averages = averages_ns()
    assert len(averages) == 9
    least = min(averages.values())
    assert own_entries(with_own_latency(0.049 * least)) == []
    own_ns = 0.06 * least
    (used,) = own_entries(with_own_latency(own_ns))
    beyond = sum(round(own_ns) > 0.05 * average for average in averages.values())
    assert beyond > 0
    assert f"{own_ns / 1000:.1f} us" in used
    assert used == golden
    assert f"for {beyond} of 9 test points" in used


def test_a_share_of_more_than_all_is_not_told_as_a_number(golden) -> None:
    (used,) = own_entries(with_own_latency(3 * max(averages_ns().values())))
    assert used == golden


def test_a_thread_that_polls_does_not_sleep() -> None:
    least = min(averages_ns().values())
    assert own_entries(with_own_latency(least, awake_ns=1, path="io_uring-polled")) == []
    assert own_entries(with_own_latency(0, awake_ns=least, path="io_uring-polled"))


@pytest.mark.parametrize("facts", [{}, {"own_latency_asleep": Fact(None, "test")}])
def test_an_engine_that_does_not_tell_has_no_share(facts) -> None:
    assert own_latency_ns(facts) is None
    assert own_entries(replace(RUN, manifest=replace(RUN.manifest, engine=facts))) == []


def beside_the_table(run: Run) -> list[str]:
    page = next(page for page in build_report(run, REPORT_DATE).pages() if page.id == "lat-table")
    assert any(isinstance(block, Table) for block in page.blocks)
    return [block.text for block in page.blocks if isinstance(block, Verdict)]


def test_the_own_share_stands_beside_the_averages(golden) -> None:
    averages = averages_ns()
    own_ns = 0.06 * min(averages.values())
    (text,) = [text for text in beside_the_table(with_own_latency(own_ns)) if "Own share" in text]
    assert f"{own_ns / 1000:.1f} us (interrupt, wake-up and engine) of each response time" in text
    assert text == golden
    assert f"{100 * own_ns / max(averages.values()):.1f} % to 6.0 % of the averages" in text
    (row,) = [
        row
        for page in build_report(with_own_latency(own_ns), REPORT_DATE).pages()
        for block in page.blocks
        if isinstance(block, Table) and block.id == "run-conditions-engine"
        for row in block.rows
        if row.head.text == "Own share of each latency, asleep"
    ]
    assert row.cells[0].text.startswith(f"{own_ns:.0f} ns")


@pytest.mark.parametrize(("value", "told"), [("loop0: loop driver", True), ("none in sysfs", False)])
def test_kernel_threads_of_the_target_are_named_beside_the_averages(value, told, golden) -> None:
    dut = RUN.manifest.dut | {KERNEL_THREADS: Fact(value, "test")}
    texts = beside_the_table(replace(RUN, manifest=replace(RUN.manifest, dut=dut)))
    assert any(value in text for text in texts) is told
    assert [text for text in texts if "Kernel threads" in text] == golden


def test_the_block_sizes_are_those_of_the_specification() -> None:
    assert {size for size, _ in averages_ns()} == {512, 4 * KIB, 8 * KIB}

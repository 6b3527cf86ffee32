"""What the report of time to ready says of known times; how sure a median is, by SciPy's binomial."""

import json
from collections.abc import Callable

import pytest
from scipy.stats import binom

from openpts.analysis.order_statistics import median_ranks
from openpts.cli.log_lines import event_lines
from openpts.runner.event_stream import EventStream
from openpts.runner.events import DriveInterrupted
from openpts.runner.progress import RunProgress
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.readiness import Interruption
from openpts_nvme.ready.report import judge, report, times_of
from tests.support.made_up_run import made_up_run
from tests.support.transcript import Golden


@pytest.mark.parametrize("count", [1, 5, 6, 8, 9, 20, 100])
def test_the_interval_has_the_median_in_95_of_100_samples(count: int) -> None:
    found = median_ranks(count)
    if found is None:
        assert binom.cdf(0, count, 0.5) * 2 > 0.05
        return
    rank, confidence = found
    assert 2 * binom.cdf(rank - 1, count, 0.5) <= 0.05 < 2 * binom.cdf(rank, count, 0.5)
    assert confidence == pytest.approx(1 - 2 * binom.cdf(rank - 1, count, 0.5))


def test_the_figures_of_a_run_are_medians_of_its_interruptions() -> None:
    content = report(made_up_run("ready"))
    found = {one.key: (one.value, one.cell.note) for one in content.measures}
    # 110 to 160 ms in steps of 10
    assert found == {
        "first_identify": (135, "110 to 160 at 95 %"),
        "first_read": (140, "115 to 165 at 95 %"),
        "read_gap": (141, "116 to 166 at 95 %"),
        "longest_read_gap": (166, ""),
    }
    figures = content.figures()
    assert figures["first_identify"]["interval_ms"] == [110, 160]
    assert figures["first_identify"]["limit_ms"] == 1000


@pytest.mark.parametrize(
    "of",
    [
        lambda number: Interruption(read_ns=number, identify_ns=number, gap_ns=number, calm_gap_ns=NS_PER_MS),
        lambda number: Interruption(
            identify_ns=2 * NS_PER_S,
            read_ns=21 * NS_PER_S + number,
            gap_ns=22 * NS_PER_S,
            gap_from_ns=-NS_PER_MS,
            shutdown_ns=11 * NS_PER_S,
        ),
    ],
    ids=["kept", "beyond"],
)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_verdicts(of: Callable[[int], Interruption], count: int, golden: Golden) -> None:
    found = [of(number * NS_PER_MS) for number in range(1, count + 1)]
    said = judge(found, "a reset of its controller")
    assert "\n".join(f"{verdict.tone}: {verdict.text}" for verdict in said) == golden


@pytest.mark.parametrize(("beyond_ns", "keeps"), [(0, True), (1, False)])
def test_a_limit_is_kept_by_the_longest_of_the_times(beyond_ns: int, keeps: bool) -> None:
    found = times_of([Interruption(identify_ns=NS_PER_S + beyond_ns), Interruption()])
    assert [(one.figure.requirement, one.keeps) for one in found] == [
        ("TTR-1", keeps),
        ("TTR-2", True),
        ("", None),
    ]


def test_an_interruption_is_a_line_of_the_log_and_a_note_among_the_events() -> None:
    found = Interruption(read_ns=137 * NS_PER_MS, gap_ns=139 * NS_PER_MS, path="/dev/nvme0n2")
    event = DriveInterrupted(2, found)
    text = "interruption 2: first read after 137 ms, longest gap 139 ms; /dev/nvme0n2"
    assert event_lines(event, RunProgress()) == [text]
    written: list[bytes] = []
    EventStream(written.append).on_event(event)
    (note,) = map(json.loads, written)
    assert (note["kind"], note["topic"], note["text"]) == ("note", "interrupted", text)

"""Steps as a table: what is selected, pivoted and summarized of samples, and what metrics make of it."""

from openpts.analysis.latency import Figures, encode_counts
from openpts.procedures.kit.steps import (
    IOPS,
    IOS,
    LONGEST,
    MEAN,
    THROUGHPUT,
    direction,
    percentile,
    pivot,
    rows_json,
    summarize,
)
from openpts.units import KIB, MB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import OperationSample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Stimulus
from openpts_pages.kit import Col
from openpts_pages.measure import Subject
from openpts_pages.model import Cell

ROW = tuple[Stimulus, Figures]


def row(qd: int, ios: int, *, read: bool = True, size_bytes: int = 4 * KIB) -> ROW:
    """So many I/Os of 2 ms in two seconds."""
    latency_ns = 2 * NS_PER_MS
    histogram = encode_counts([(latency_ns, ios)]) if ios else b""
    least_ns = latency_ns if ios else None
    one = OperationSample(ios, ios * size_bytes, ios * latency_ns, least_ns, least_ns, histogram)
    stimulus = Stimulus.of(AccessPattern.RANDOM, size_bytes, 100 * read, 1, qd, ActiveRange(0, 100))
    return stimulus, Figures.of([one], 2 * NS_PER_S)


def qd_of(stimulus: Stimulus) -> int:
    return stimulus.qd


def test_rows_of_a_pivot_rise_and_the_last_of_several_in_one_place_counts() -> None:
    found = pivot([row(8, 400), row(1, 100), row(8, 600), row(8, 50, read=False)], qd_of, direction)
    assert list(found.by_row) == [1, 8]
    assert found.columns == {"Read", "Write"}
    assert (read := found.at(8, "Read")) is not None
    assert read.iops == 300
    assert found.at(1, "Write") is found.at(2, "Read") is None


def test_a_table_of_a_pivot_has_a_cell_for_each_place_and_says_what_is_missing() -> None:
    found = pivot([row(1, 100), row(8, 400), row(8, 50, read=False)], qd_of, direction)
    head: Col[int] = Col("QD", lambda qd: Cell(str(qd), qd))
    shown = found.table("by-qd", "IOPS", head, {"R": "Read", "W": "Write"}, IOPS)
    assert [column.label for column in shown.columns] == ["R", "W"]
    assert [[cell.text for cell in one.cells] for one in shown.rows] == [["50.0", "n/a"], ["200.0", "25.0"]]
    assert shown.rows[0].cells[1].note == "not measured"


def test_a_summary_has_the_figures_of_each_key_in_the_order_of_the_steps() -> None:
    visits = summarize([row(8, 600), row(1, 100), row(8, 400)], qd_of, lambda one: one.iops)
    assert list(visits.items()) == [(1, (50,)), (8, (300, 200))]


def test_json_is_made_of_keys_and_metrics() -> None:
    metrics = (IOS, IOPS, THROUGHPUT, MEAN, percentile(99.9), LONGEST)
    rows = [row(4, 500, size_bytes=MB), row(1, 0)]
    assert rows_json(rows, {"qd": qd_of, "way": direction}, metrics) == [
        {
            "qd": 4,
            "way": "Read",
            "ios": 500,
            "iops": 250,
            "mb_per_s": 250,
            "mean_ms": 2,
            "p99_9_ms": None,  # takes 1,000 I/Os
            "longest_ms": 2,
        },
        {
            "qd": 1,
            "way": "Read",
            "ios": 0,
            "iops": 0,
            "mb_per_s": 0,
            "mean_ms": None,
            "p99_9_ms": None,
            "longest_ms": None,
        },
    ]


def test_a_cell_has_the_text_of_its_unit_or_the_reason_of_its_absence() -> None:
    _, many = row(4, 1000)
    _, none = row(4, 0)
    assert [metric.cell(many).text for metric in (IOS, IOPS, MEAN, LONGEST)] == [
        "1,000",
        "500.0",
        "2.00",
        "2.00",
    ]
    assert [metric.cell(none).note for metric in (MEAN, LONGEST)] == ["no I/O timed"] * 2
    assert percentile(99.9).cell(none).note == "below 1,000 I/Os"
    assert IOPS.cell(None).note == "not measured"


def test_a_measure_of_the_run_is_the_metric_under_another_name() -> None:
    _, one = row(4, 500)
    found = MEAN.measure("access", "Access of {name}", decimals=3).of(one, Subject("reads"))
    assert (found.key, found.label, found.unit, found.text, found.value) == (
        "reads.access",
        "Access of reads",
        "ms",
        "2.000",
        2,
    )
    assert MEAN.measure("access", "Access").of(one).text == "2.00"
    assert THROUGHPUT.measure("rate", "Rate").of(one).value == 500 * 4 * KIB / 2 / MB

"""The short report of the plan tkperf beside a report of TKperf, on a drive that does what that one did."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.parameters.overrides import conditions_of
from openpts.parameters.plan_file import read_plan
from openpts.procedures.kit.ledger import deviations
from openpts.record.reader import Run
from openpts.report.build import short_report
from openpts.report.run_part import part_of
from openpts.units import KIB, MB, MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts_pages.model import Figure, Page, Report, Table
from openpts_pts.conformance.catalogue import PTS
from tests import DATA
from tests.support.made_up_run import CAPACITY_BYTES, made_up_run, with_intervals
from tests.support.player import Rate

PAPER: dict[str, Any] = yaml.safe_load((DATA / "published/tkperf.yaml").read_text())
WINDOWS = {one["name"]: one for one in yaml.safe_load((DATA / "steady_state_windows.yaml").read_text())}
TESTS = ("iops", "tp", "lat", "wsat")


def in_window(of: dict[str, Any], number: int, before: float) -> float:
    """What TKperf's window has in a round, counted from 1; ``before`` and beyond it something else."""
    values = dict(zip(of["steady"]["rounds"], WINDOWS[of["window"]]["values"], strict=True))
    return float(values.get(number - 1, before))


def iops(stimulus: Stimulus, phase: Phase, number: int) -> Fraction:
    of, size_kib = PAPER["iops"], stimulus.block_size_bytes / KIB
    if phase is not Phase.ROUND:
        return Fraction(20_000)
    if (size_kib, stimulus.read_pct) == (4, 0):
        return Fraction(in_window(of, number, 1))
    mixes = [int(mix.partition("/")[0]) for mix in of["columns_rw"]]
    return Fraction(str(of["iops_by_kib"][size_kib][mixes.index(stimulus.read_pct)]))


def throughput(stimulus: Stimulus, _phase: Phase, number: int) -> Fraction:
    of, size_kib = PAPER["throughput"], stimulus.block_size_bytes / KIB
    read, write = of["mib_per_s_by_kib"][size_kib]
    if (size_kib, stimulus.read_pct) == (1024, 0):  # its first two rounds are not in the paper
        return Fraction(in_window(of, number, 4e6 * number)) * KIB / stimulus.block_size_bytes
    return Fraction(str(read if stimulus.read_pct else write)) * MIB / stimulus.block_size_bytes


def latency(stimulus: Stimulus, phase: Phase, number: int) -> Fraction:
    of, size_kib = PAPER["latency"], stimulus.block_size_bytes / KIB
    if phase is not Phase.ROUND:
        return Fraction(20_000)
    if (size_kib, stimulus.read_pct) == (4, 0):
        return 10**6 / Fraction(in_window(of, number, 1))
    mixes = [int(mix.partition("/")[0]) for mix in of["columns_rw"]]
    return 1000 / Fraction(str(of["average_ms_by_kib"][size_kib][mixes.index(stimulus.read_pct)]))


def saturation(_stimulus: Stimulus, _phase: Phase, _number: int) -> Fraction:
    return Fraction(PAPER["write_saturation"]["iops"])


RATES: dict[str, Rate] = dict(zip(TESTS, (iops, throughput, latency, saturation), strict=True))


@pytest.fixture(scope="module")
def report() -> Report:
    plan = read_plan(Path("tkperf"))

    def as_planned(conditions: Conditions) -> Any:
        return conditions_of(plan.overrides(conditions.test), conditions)

    def run(name: str) -> Run:
        made_up = made_up_run(name, rate=RATES[name], adjust=as_planned)
        used, test = made_up.manifest.conditions, PTS[name]
        standard = test.standard_conditions(DriveClass.ENTERPRISE, used.seed)
        return replace(made_up, ledger=deviations(used, standard, test.rules))

    runs = [run(name) for name in TESTS]
    runs[-1] = with_intervals(runs[-1], NS_PER_S)
    return short_report([part_of(run, "2026-11-22T08:00:00Z") for run in runs], "2026-11-22T08:00:00Z")


def page(report: Report, name: str) -> Page:
    return next(page for page in report.front if page.id == f"short-{name}")


def table(report: Report, name: str, beginning: str) -> Table:
    tables = [block for block in page(report, name).blocks if isinstance(block, Table)]
    return next(one for one in tables if one.title.startswith(beginning))


def numbers(shown: Table) -> Iterator[tuple[float | None, list[float | None]]]:
    for row in shown.rows:
        yield row.head.value, [cell.value for cell in row.cells]


def test_its_chapters_are_those_of_the_paper_in_its_order(report) -> None:
    ours = [one.title for one in report.front]
    assert ours == ["Set-up", *PAPER["sections"][1:]]


@pytest.mark.proves("TKP-TP-03", "TKP-LAT-03")
@pytest.mark.parametrize(
    ("name", "chapter", "plots"),
    [
        ("iops", "iops", ["Plot A.1", "Plot A.3", "Plot A.7", "Plot A.8"]),
        ("tp", "throughput", ["Plot X-TP-WRITE", "Plot X-TP-READ", "Plot 8-3", "Plot X-TP-BARS"]),
        # its one plot of reads, mixes and writes is three of ours
        ("lat", "latency", ["Plot 9-1d", "Plot 9-1c", "Plot 9-1", "Plot 9-2", "Plot 9-5", "Plot 9-6"]),
        ("wsat", "write_saturation", ["Plot X-WSAT-IOPS", "Plot X-WSAT-LATENCY"]),
    ],
)
def test_plots_come_in_the_order_of_the_paper(report, name, chapter, plots) -> None:
    figures = [block for block in page(report, name).blocks if isinstance(block, Figure)]
    assert [figure.number for figure in figures] == plots
    assert len(figures) == len(PAPER[chapter]["plots"]) + (2 if name == "lat" else 0)


@pytest.mark.proves("TKP-IOPS-08")
def test_iops_have_its_rows_columns_and_figures(report) -> None:
    of, shown = PAPER["iops"], table(report, "iops", "Average IOPS")
    assert [column.label for column in shown.columns] == of["columns_rw"]
    assert [row.head.value for row in shown.rows] == list(of["iops_by_kib"])
    printed = [[cell.text for cell in row.cells] for row in shown.rows]
    assert printed == [[f"{value:,.1f}" for value in row] for row in of["iops_by_kib"].values()]


@pytest.mark.proves("TKP-TP-04")
def test_throughput_has_its_rows_and_columns_in_units_of_base_10(report) -> None:
    of, shown = PAPER["throughput"], table(report, "tp", "Average MB/s (base 10)")
    assert [column.label for column in shown.columns] == of["columns"]
    for (size_kib, ours), (paper_kib, paper) in zip(
        numbers(shown), of["mib_per_s_by_kib"].items(), strict=True
    ):
        assert size_kib == paper_kib
        assert [value * MB / MIB for value in ours if value] == pytest.approx(paper, rel=2e-5)


@pytest.mark.proves("TKP-LAT-02", "TKP-LAT-04")
@pytest.mark.parametrize(
    ("beginning", "key"),
    [
        ("Average latency (ms)", "average_ms"),
        ("Max latency (ms)", "max_ms"),
        ("Min latency (ms)", "average_ms"),
    ],
)
def test_latencies_have_its_rows_and_columns(report, beginning, key) -> None:
    of, shown = PAPER["latency"], table(report, "lat", beginning)
    assert [column.label for column in shown.columns] == of["columns_rw"]
    assert [row.head.value for row in shown.rows] == list(of[f"{key}_by_kib"])


def test_average_latencies_are_those_of_the_paper_and_between_the_extremes(report) -> None:
    average, least, most = (table(report, "lat", f"{word} latency") for word in ("Average", "Min", "Max"))
    rounded = [[round(value or 0, 3) for value in row] for _, row in numbers(average)]
    assert rounded == list(PAPER["latency"]["average_ms_by_kib"].values())
    (_, low), (_, mean), (_, high) = (list(numbers(one))[1] for one in (least, average, most))
    window = WINDOWS[PAPER["latency"]["window"]]["values"]
    assert (low[0], high[0]) == pytest.approx((min(window) / 1000, max(window) / 1000), rel=1e-4)
    assert mean[0] == pytest.approx(PAPER["latency"]["average_us"] / 1000, rel=1e-4)


@pytest.mark.proves("TKP-TP-02")
@pytest.mark.proves("TKP-SS-04")
@pytest.mark.parametrize(
    ("name", "chapter", "to_paper"),
    [("iops", "iops", 1), ("tp", "throughput", MB / KIB), ("lat", "latency", 1000)],
)
def test_the_steady_state_has_its_rounds_values_and_average(report, name, chapter, to_paper, golden) -> None:
    of, shown = PAPER[chapter], table(report, name, "Steady State information")
    if name == "tp":  # a row for each size, the one that TKperf judges first
        texts = [cell.text for cell in shown.rows[0].cells]
    else:
        texts = [row.cells[0].text for row in shown.rows][1:]
    state, rounds, values, average = texts
    assert state == golden
    assert [int(number) - 1 for number in rounds.split(", ")] == of["steady"]["rounds"]
    ours = [float(value.replace(",", "")) * to_paper for value in values.split("; ")]
    assert ours == pytest.approx(WINDOWS[of["window"]]["values"], rel=0.005)
    assert float(average.replace(",", "")) * to_paper == pytest.approx(of["steady"]["average"], rel=0.005)


@pytest.mark.proves("TKP-WSAT-02")
def test_write_saturation_has_a_row_for_each_round(report) -> None:
    of, shown = PAPER["write_saturation"], table(report, "wsat", "Rounds")
    fills = 4 * CAPACITY_BYTES / (of["iops"] * 4 * KIB * 60)
    assert len(shown.rows) == int(fills) + 1
    for number, (head, (written, rate, _, _, mean, _)) in enumerate(numbers(shown), start=1):
        assert head == number
        assert rate == pytest.approx(of["iops"], rel=1e-3)
        assert mean == pytest.approx(1000 * PAPER["tc"] * PAPER["qd"] / of["iops"], rel=1e-3)
        assert written == pytest.approx(min(number, fills) * of["iops"] * 4 * KIB * 60 / 1e9, rel=1e-3)


def test_its_words_are_those_of_the_run(report, golden) -> None:
    words = {one.id: getattr(one.blocks[0], "text", "") for one in report.front}
    assert words == golden

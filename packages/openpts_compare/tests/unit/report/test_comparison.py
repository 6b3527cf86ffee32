"""Runs beside each other: who stands with whom, what differs, what is said of it."""

from io import StringIO
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from openpts.errors import UsageError
from openpts.fields.conditions import Conditions
from openpts.record.reader import Run, read_run
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import BiosSetting, Fact, Purpose, Scenario
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts_compare.cli.compare import print_comparison
from openpts_compare.compare.build import build_comparison
from openpts_compare.compare.conditions import conditions_of
from openpts_compare.compare.contenders import NamedRun, RunComparison, compare_runs, read_entries
from openpts_compare.compare.figures import comparison_document
from openpts_pages.model import Figure, Report, Table, Verdict
from openpts_pages.plots.svg import draw_figures
from openpts_practice.rows.profiles import BENCHMARKS
from tests.support.drawn_texts import outside, overlapping, text_boxes
from tests.support.made_up_run import made_up_run
from tests.support.report_cases import Reports
from tests.support.synthetic_run import Synthetic, write_synthetic_run

OTHER = {"model": "Candidate X", "serial": "C-1", "firmware": "2"}


@pytest.fixture(scope="module")
def run(reports: Reports) -> Run:
    return read_run(reports.folder("five rounds"))


def with_facts(run: Run, room: str = "dut", **texts: str) -> Run:
    facts = getattr(run.manifest, room) | {key: Fact(text, "test") for key, text in texts.items()}
    return replace(run, manifest=replace(run.manifest, **{room: facts}))


def under(run: Run, **conditions: Any) -> Run:
    changed = msgspec.structs.replace(run.manifest.conditions, **conditions)
    return replace(run, manifest=replace(run.manifest, conditions=changed))


def at(run: Run, share: float) -> Run:
    """The same run with its I/Os at another rate: each step takes longer or shorter."""
    steps = tuple(
        replace(step, sample=replace(step.sample, elapsed_ns=round(step.sample.elapsed_ns / share)))
        for step in run.steps
    )
    return replace(run, steps=steps)


def compared(*runs: Run, base: str = "") -> RunComparison:
    return compare_runs([NamedRun(one) for one in runs], base)


def differing(comparison: RunComparison) -> dict[str, list[str]]:
    return {one.test: [field.label for field in one.differing] for one in conditions_of(comparison)}


def sets_of(comparison: RunComparison, name: str = "RND 4 KiB RW0") -> dict[str, dict[str, Any]]:
    (test,) = msgspec.to_builtins(comparison_document(comparison, ()))["tests"]
    (found,) = (value for value in test["key_values"] if value["name"] == name)
    return {one["name"]: one for one in found["sets"]}


def sentences(report: Report, tone: str) -> list[str]:
    blocks = [block for page in report.pages() for block in page.blocks]
    return [block.text for block in blocks if isinstance(block, Verdict) and block.tone == tone]


def test_runs_of_one_drive_are_one_set_and_another_drive_is_held_against_them(run, golden) -> None:
    other = with_facts(run, **OTHER)
    mine, theirs = (1.01, 1, 0.99, 1, 1), (1.2, 1.22, 1.1, 1.2, 1.2)
    comparison = compared(*[at(run, share) for share in mine], *[at(other, share) for share in theirs])
    sets = sets_of(comparison)
    base, candidate = comparison.names
    assert candidate == "Candidate X"
    assert [len(sets[name]["warm"]) for name in (base, candidate)] == [5, 5]
    # each step's time is a whole number of ns
    assert sets[candidate]["delta_pct"] == pytest.approx(20, abs=1e-6)
    assert sets[candidate]["outcome"] == "different"
    assert sets[candidate]["statement"].startswith("different: ")
    answer, *_ = sentences(build_comparison(comparison), "info")
    assert answer == golden
    assert sets[base]["median"] == sets[base]["warm"][1]


def test_ranges_that_overlap_show_no_difference(run) -> None:
    other = with_facts(run, **OTHER)
    runs = [at(run, share) for share in (1, 1.02, 1.04)] + [at(other, share) for share in (1.03, 1.05, 1.06)]
    comparison = compared(*runs)
    assert sets_of(comparison)["Candidate X"]["outcome"] == "no difference shown"
    table = build_comparison(comparison).tables()["compare-iops-sets"]
    # five rounds on their way down: none of these runs was steady, and each line says so
    assert {row.cells[-1].text for row in table.rows} == {
        "Steady State not reached",
        "no difference shown: 14 %, corrected 42 %; ratio 1.026 (0.9867 to 1.067), 3 runs against 3, spread "
        "between runs 1.7 %; Steady State not reached",
    }


def test_what_would_differ_alone_may_be_chance_among_several_lines(run, golden) -> None:
    other = with_facts(run, **OTHER)
    mine, theirs = (1, 1.02, 0.98), (1.06, 1.1, 1.04)
    comparison = compared(*[at(run, share) for share in mine], *[at(other, share) for share in theirs])
    exact_pct = 100 * stats.ttest_ind(np.log(mine), np.log(theirs)).pvalue
    assert 5 / 3 < exact_pct < 5
    figures = msgspec.to_builtins(comparison_document(comparison, ()))
    told = ("least_difference_pct", "false_alarm_limit_pct", "correction", "lines_judged")
    assert [figures[key] for key in told] == [2, 5, "Holm", 3]
    found = sets_of(comparison)["Candidate X"]
    assert (found["outcome"], found["chance_pct"]) == ("may be chance", pytest.approx(exact_pct, rel=1e-4))
    assert found["corrected_chance_pct"] == pytest.approx(3 * exact_pct, rel=1e-4)
    report = build_comparison(comparison)
    table = report.tables()["compare-iops-sets"]
    labels = [column.label for column in table.columns]
    (row,) = [row for row in table.rows if "RW0 " in row.head.text and row.cells[0].text == "Candidate X"]
    shown = dict(zip(labels, row.cells, strict=True))
    chance = shown["Chance, corrected (%)"]
    assert chance.value == pytest.approx(3 * exact_pct, rel=1e-4)
    assert chance.note == f"one line: {exact_pct:.1f}"
    assert shown["Statement"].text.startswith(f"may be chance: {exact_pct:.1f} %, corrected {chance.text} %")
    assert sentences(report, "info") == golden


@pytest.mark.proves("SOL-STAT-06")
def test_seven_runs_that_lie_too_far_apart_are_discarded(run, golden) -> None:
    other = with_facts(run, **OTHER)
    wild = [at(other, share / 100) for share in (90, 100, 140, 85, 130, 95, 120)]
    found = sets_of(compared(run, *wild))["Candidate X"]
    assert found["quality"] == "discarded"
    assert found["rse_pct"] == pytest.approx(7.4335313, abs=1e-5)  # as published for these values
    assert found["delta_pct"] is None
    assert found["statement"] == golden


@pytest.mark.proves("SOL-STAT-02")
def test_a_single_run_says_nothing_about_spread(run, golden) -> None:
    found = sets_of(compared(run, at(with_facts(run, **OTHER), 2)))["Candidate X"]
    assert found["delta_pct"] == pytest.approx(100, abs=1e-6)
    assert found["rse_pct"] is None
    assert found["statement"] == "one run: no statement about spread; Steady State not reached"
    answer, *_ = sentences(build_comparison(compared(run, at(with_facts(run, **OTHER), 2))), "info")
    assert answer == golden


def test_a_ratio_is_candidate_over_base_also_where_less_is_better(monkeypatch, golden) -> None:
    """Of one run each: the difference, then that nothing can be said of chance; the screen is a matrix."""
    base = made_up_run("lat", rate=lambda *_: 1000)
    other = with_facts(made_up_run("lat", rate=lambda *_: 20_000), **OTHER)
    comparison = compared(base, other)
    report = build_comparison(comparison)
    answer, *_ = sentences(report, "info")
    assert "takes 0.0500 x the time" in answer
    assert answer.endswith("; nothing can be said of chance: make 2 more runs of each.")
    assert "%" not in answer
    stream = StringIO()
    monkeypatch.setenv("COLUMNS", "80")
    print_comparison(stream, report, comparison)
    shown = stream.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("no statement about spread") == 1
    assert shown == golden
    metric = sets_of(comparison, "RND 4 KiB RW0, ART")["Candidate X"]
    assert metric["ratio"] == pytest.approx(0.05, rel=1e-3)


def test_three_drives_have_a_line_for_each_key_value_at_80_columns(monkeypatch) -> None:
    """Title, head, a line a value, and the remarks once; labels stay distinct, with their units."""
    runs = [
        with_facts(made_up_run("sustained", rate=lambda *_, rate=rate: rate), model=f"Drive {rate}")
        for rate in (1000, 20_000, 300_000)
    ]
    comparison = compared(*runs)
    stream = StringIO()
    monkeypatch.setenv("COLUMNS", "80")
    print_comparison(stream, build_comparison(comparison), comparison)
    _, _, matrix = stream.getvalue().partition("Sustained Performance: medians")
    lines, _, below = matrix.partition("↓ less is better")
    _, head, *rows = lines.splitlines()
    (test,) = msgspec.to_builtins(comparison_document(comparison, ()))["tests"]
    assert len(rows) == len(test["key_values"])
    assert head.split() == [
        "Key",
        "value",
        *(word for run in (1000, 20000, 300000) for word in ("Drive", str(run))),
    ]
    assert max(map(len, (head, *rows))) <= 80
    assert all(row[: row.find(")") + 1].count("(") == 1 for row in rows)
    assert " ".join(below.split()).count("no statement about spread") == 1
    assert "spread of the drives" not in stream.getvalue()
    sustained = [one for one in test["key_values"] if one["name"].endswith(", run #2")]
    for one in sustained:
        size = 128 * 1024 if "SEQ" in one["name"] else 4096
        per_io = {"IOPS": 1, "MB/s": size / 1e6}[one["unit"]]
        assert [value["median"] for value in one["sets"]] == pytest.approx(
            [rate * per_io for rate in (1000, 20_000, 300_000)], rel=0.01
        )
    assert {one["unit"] for one in sustained} == {"IOPS", "MB/s"}


def test_bars_with_the_range_of_the_runs_are_on_the_first_page_and_their_axis_says_what_is_better(
    run,
) -> None:
    other = with_facts(run, **OTHER)
    runs = [at(run, share) for share in (1, 1.1, 0.9)] + [at(other, share) for share in (2, 2.1, 1.9)]
    report = build_comparison(compared(*runs))
    bars = [block for block in report.front[0].blocks if isinstance(block, Figure)]
    assert [figure.y.title for figure in bars] == ["IOPS, more is better"] * len(bars)
    table = report.tables()[bars[0].table_id]
    assert [row.head.text for row in table.rows] == [*bars[0].x.labels]
    for row in table.rows:
        median, low, high = (cell.value for cell in row.cells)
        assert low < median < high
    first = next(place for place, block in enumerate(report.front[0].blocks) if isinstance(block, Table))
    assert report.front[0].blocks.index(bars[-1]) < first
    drawings = draw_figures(report)
    for figure in bars:
        boxes = text_boxes(drawings[figure.id])
        assert overlapping(boxes) == []
        assert outside(boxes, figure.width_px, figure.height_px) == []
    dots = next(figure for figure in report.figures() if figure.kind == "strip")
    assert dots.y.title.endswith("more is better")


def test_one_drive_with_a_run_of_each_of_two_tests_is_no_comparison() -> None:
    with pytest.raises(UsageError, match=r"no test was run twice \(.* has (iops, lat|lat, iops)\)"):
        compared(made_up_run("iops"), made_up_run("lat"))


def test_a_cold_run_stands_apart(run) -> None:
    entries = [NamedRun(at(run, 3), cold=True), NamedRun(run), NamedRun(with_facts(run, **OTHER))]
    comparison = compare_runs(entries)
    base = sets_of(comparison)[comparison.names[0]]
    assert len(base["warm"]) == len(base["cold"]) == 1
    assert base["cold"][0] == pytest.approx(3 * base["median"], rel=1e-6)
    table = build_comparison(comparison).tables()["compare-iops-sets"]
    assert [row.cells[-1].text for row in table.rows].count("not counted") == 3


def test_labels_put_runs_together_and_say_what_their_spread_is(run, golden) -> None:
    runs = [with_facts(run, serial=f"N-{number}") for number in range(3)]
    entries = [NamedRun(one, label="batch") for one in runs] + [
        NamedRun(with_facts(run, **OTHER), label="other")
    ]
    report = build_comparison(compare_runs(entries, base="other"))
    assert report.subtitle == "other v batch"
    (mixed,) = [text for text in sentences(report, "fail") if "holds runs of 3 drives" in text]
    assert mixed == golden


def test_drives_of_one_model_are_told_apart_by_their_serial_numbers(run) -> None:
    comparison = compared(with_facts(run, serial="N-1"), with_facts(run, serial="N-2"))
    assert [name.rsplit(" ", 1)[1] for name in comparison.names] == ["N-1", "N-2"]


def test_other_conditions_make_another_set(run) -> None:
    comparison = compared(run, under(run, qd=7), under(run, seed=99))
    assert [(one.number, len(one.runs)) for one in comparison.tests[0].contenders] == [(1, 2), (2, 1)]
    assert differing(comparison) == {"": [], "iops": ["Queue depth (QD)"]}


@pytest.mark.proves("SOL-GEN-11", "SOL-SYS-02", "SOL-SYS-04")
@pytest.mark.parametrize(
    ("change", "label"),
    [
        (lambda run: with_facts(run, "host", cpu="another"), "Host: CPU"),
        (lambda run: with_facts(run, "host", operating_system="another"), "Host: Operating system"),
        (lambda run: with_facts(run, "software", kernel="Linux 1"), "Kernel"),
        (lambda run: with_facts(run, "software", test_software="openpts 0"), "Test software"),
        (lambda run: with_facts(run, "engine", engine="fio"), "Engine: engine"),
        (lambda run: under(run, drive_class=DriveClass.CLIENT), "Class"),
    ],
)
def test_what_was_not_made_alike_is_on_the_red_list(run, change, label, golden) -> None:
    comparison = compared(run, change(with_facts(run, **OTHER)))
    assert differing(comparison)[""] == [label]
    report = build_comparison(comparison)
    assert sentences(report, "fail")[0] == golden
    table = next(block for block in report.front[0].blocks if isinstance(block, Table))
    assert [row.head.text for row in table.rows] == [label]


def test_settings_of_the_host_are_compared_one_by_one_and_its_states_told(run) -> None:
    tuned = with_facts(run, "host_before", governor="performance", load="0.10 0.10 0.10", swap="none")
    other = with_facts(run, "host_before", governor="powersave", load="0.90 0.10 0.10", swap="none")
    declared = replace(other, manifest=replace(other.manifest, scenario=Scenario.REAL_WORLD))
    comparison = compared(tuned, with_facts(declared, **OTHER))
    assert differing(comparison)[""] == ["Scenario", "Setting: Frequency governor"]
    fields = {field.label: field for field in conditions_of(comparison)[0].fields}
    assert fields["Setting: Load average"].values == (("0.10 0.10 0.10",), ("0.90 0.10 0.10",))
    assert not fields["Setting: Load average"].judged
    # what no run knows has no row
    assert "Setting: Turbo" not in fields


@pytest.mark.proves("SOL-SYS-03")
def test_bios_settings_are_judged_and_the_use_of_a_drive_is_shown(run) -> None:
    def declaring(purpose: Purpose) -> Run:
        return replace(run, manifest=replace(run.manifest, purpose=purpose))

    tuned = BiosSetting(setting="C-states", value="off", effect="shorter response times")
    comparison = compared(
        declaring(Purpose(use_case="gaming")),
        with_facts(declaring(Purpose(use_case="server", bios=(tuned,))), **OTHER),
    )
    assert differing(comparison)[""] == ["Purpose: BIOS setting"]
    fields = {field.label: field for field in conditions_of(comparison)[0].fields}
    assert fields["Purpose: Use case"].values == (("gaming",), ("server",))
    assert fields["Purpose: BIOS setting"].values[0] == ("not declared",)


def test_firmware_is_judged_where_the_model_is_the_same(run) -> None:
    assert differing(compared(run, with_facts(run, firmware="old")))[""] == ["Firmware"]
    assert differing(compared(run, with_facts(run, **OTHER)))[""] == []


def test_runs_that_were_made_alike_say_so(run, golden) -> None:
    report = build_comparison(compared(run, with_facts(run, **OTHER)))
    assert sentences(report, "pass") == golden


@pytest.mark.parametrize("count", [0, 1])
def test_one_run_is_no_comparison(run, count) -> None:
    with pytest.raises(UsageError, match="two runs or more"):
        compared(*[run] * count)


def test_a_base_that_is_not_there_is_refused_with_the_names_that_are(run) -> None:
    with pytest.raises(UsageError, match=r"invalid --base .*: use one of .*Candidate X"):
        compared(run, with_facts(run, **OTHER), base="nobody")


def test_folders_that_make_no_sense_are_refused(tmp_path, reports) -> None:
    folder = reports.folder("five rounds")
    with pytest.raises(UsageError, match="named twice"):
        read_entries([folder, folder])
    with pytest.raises(UsageError, match=r"invalid --label of .*elsewhere: not one of the compared runs"):
        read_entries([folder], {tmp_path / "elsewhere": "x"})
    with pytest.raises(UsageError, match="invalid --cold of"):
        read_entries([folder], cold=[tmp_path])


def test_labels_and_cold_runs_are_found_by_their_folders(tmp_path) -> None:
    folders = [write_synthetic_run(tmp_path / name, Synthetic()) for name in ("a", "b")]
    entries = read_entries(folders, {tmp_path / "x" / ".." / "a": "first"}, [folders[1]])
    assert [(entry.label, entry.cold) for entry in entries] == [("first", False), ("", True)]


def test_a_run_without_values_says_that_they_are_missing(run, reports) -> None:
    nothing = with_facts(read_run(reports.folder("preconditioned only")), **OTHER)
    found = sets_of(compared(run, nothing))["Candidate X"]
    assert (found["median"], found["delta_pct"], found["statement"]) == (None, None, "not measured")
    build_comparison(compared(nothing, run))


def test_two_matrices_make_a_heat_map_of_shares_and_deltas(run) -> None:
    report = build_comparison(compared(run, at(with_facts(run, **OTHER), 1.25)))
    (heat,) = (figure for figure in report.figures() if figure.kind == "heat")
    shares, deltas = report.tables()[heat.table_id], report.tables()[heat.detail_table_id]
    for table, wanted in ((shares, 125), (deltas, 25)):
        values = [cell.value for row in table.rows for cell in row.cells]
        assert len(values) == 56
        assert values == pytest.approx([wanted] * 56, abs=1e-5)
    assert {cell.text for row in deltas.rows for cell in row.cells} == {"+25.0"}


def test_drives_of_different_capacity_are_not_one_drive(run, golden) -> None:
    target = run.manifest.target
    larger = replace(target, user_capacity_bytes=2 * target.user_capacity_bytes)
    other = replace(run, manifest=replace(run.manifest, target=larger))
    comparison = compared(run, at(run, 0.9), other)
    assert [len(one.runs) for one in comparison.tests[0].contenders] == [2, 1]
    assert [name.split()[-1] for name in comparison.names] == ["GB", "GB"]
    labeled = compare_runs([NamedRun(run, "both"), NamedRun(other, "both")])
    assert sentences(build_comparison(labeled), "fail") == golden


def test_the_limit_of_the_standard_error_is_the_operators(run, golden) -> None:
    runs = [NamedRun(at(run, share)) for share in (0.8, 1, 1.2)]
    found = {
        limit_pct: sets_of(compare_runs(runs, rse_limit_pct=limit_pct)) for limit_pct in (1.0, 5.0, 12.0)
    }
    qualities = [next(iter(sets.values()))["quality"] for sets in found.values()]
    assert qualities == ["more runs needed", "more runs needed", "accepted"]
    report = build_comparison(compare_runs(runs, rse_limit_pct=1.0))
    assert sentences(report, "info") == golden


def test_names_of_key_values_have_room_and_what_is_far_away_flattens_no_other() -> None:
    """Rows with long names; one that is 40 times as fast on the other drive."""

    def benchmarks(one: Conditions) -> Conditions:
        return replace(one, benchmarks=(BENCHMARKS["crystaldiskmark"], BENCHMARKS["solidigm-low"]))

    def faster(_stimulus: Stimulus, phase: Phase, number: int) -> float:
        return 40_000 if (phase, number) == (Phase.PROFILE, 6) else 1010

    base = made_up_run("benchmarks", rate=lambda *_: 1000, adjust=benchmarks)
    other = with_facts(made_up_run("benchmarks", rate=faster, adjust=benchmarks), **OTHER)
    report = build_comparison(compared(base, other))
    drawn = [figure for figure in report.figures() if figure.kind == "strip"]
    labels = [label for figure in drawn for label in figure.x.labels]
    assert len(labels) == 12, "each key value once"
    drawings = draw_figures(report)
    far = 0
    for figure in drawn:
        boxes = text_boxes(drawings[figure.id])
        assert overlapping(boxes) == []
        assert outside(boxes, figure.width_px, figure.height_px) == []
        assert figure.y.domain[1] < 105, "1 % can be seen"
        far += sum(text == "4,000" for text, *_ in boxes)
    assert far == 1


def test_each_run_is_a_dot_in_per_cent_of_the_base(run) -> None:
    report = build_comparison(compared(run, at(run, 1.1), at(run, 0.9), at(with_facts(run, **OTHER), 1.25)))
    (dots,) = (figure for figure in report.figures() if figure.kind == "strip")
    table = report.tables()[dots.table_id]
    of_series = {
        series.label: [cell.value for cell in table.rows[series.lines[0]].cells if cell.value is not None]
        for series in dots.series
    }
    base, candidate = of_series.values()
    assert base == pytest.approx([100, 110, 90], abs=1e-5)
    assert candidate == pytest.approx([125], abs=1e-5)

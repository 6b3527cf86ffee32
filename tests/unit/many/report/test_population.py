"""Many drives of one kind: who is named, what goes with the path, and what the pages say."""

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from docs.schema_files import OUTPUTS
from jsonschema import validate
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from openpts.cli.main import cli
from openpts.pages.measure import Measured
from openpts.pages.model import Cell, Report, Table, Verdict
from openpts.plots.svg import draw_figures
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run
from openpts.vocabulary.better import Better
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.people import People
from openpts_many.population.build import build_population
from openpts_many.population.drives import Drive, DriveRun, Population, Populations, _populations, drive_run
from openpts_many.population.figures import TestFigures as Finding
from openpts_many.population.figures import ValueFigures
from openpts_many.population.findings import population_figures
from openpts_many.population.words import named_line
from tests.simulated.one_point import run_one_point
from tests.support.made_up_run import made_up_run
from tests.support.transcript import Golden

IOPS = Measured("rnd_4_kib_rw0.iops", "RND 4 KiB RW0", "IOPS", Cell(""), Better.HIGHER)
TAIL = Measured("rnd_4_kib_rw0.p99.9", "RND 4 KiB RW0, p99.9", "ms", Cell(""), Better.LOWER)
HEAT = Measured("temperature.mean", "Mean temperature", "°C", Cell(""), Better.LOWER)
ALL = (IOPS, TAIL, HEAT)
DRIVES = 24

Change = Callable[[int], float]


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return made_up_run("iops").manifest


def of_drive(name: Measured, value: float) -> Measured:
    return replace(name, cell=Cell("", value))


def lot(
    manifest: Manifest,
    *,
    factor: Change = lambda _: 1.0,
    kelvin: Change = lambda _: 0.0,
    tail: Change = lambda _: 1.0,
    runs: int = 1,
    seed: int = 20010,
) -> Populations:
    """Twenty-four drives in three hosts with eight slots each, started in the order of their serials."""
    draw = random.Random(seed)
    drives = []
    for place in range(DRIVES):
        own, warm, long = draw.gauss(0, 0.004), draw.gauss(0, 0.4), draw.gauss(0, 0.05)
        drives.append(
            Drive(
                f"SN{place:03}",
                tuple(
                    DriveRun(
                        folder=f"runs/{place}-{number}",
                        test="iops",
                        drive=f"SN{place:03}",
                        kind=("X100", "1,600 GB"),
                        conditions="{}",
                        condition="",
                        started_at=f"2026-01-{number + 1:02}T00:{place:02}:00+00:00",
                        red_line="",
                        test_id=f"{place}-{number}",
                        state=RunState.COMPLETE,
                        deviations=frozenset(),
                        seeds=None,
                        source=None,
                        firmware="",
                        deviation_count=0,
                        manifest=manifest,
                        slot=f"bay{place % 8}",
                        groups={"host": f"h{place // 8}", "link": "4.0 x4"},
                        values=(
                            of_drive(IOPS, 100_000 * (1 + own + draw.gauss(0, 0.001)) * factor(place)),
                            of_drive(TAIL, 2.0 * (1 + long) * tail(place)),
                            of_drive(HEAT, 50 + warm + kelvin(place)),
                        ),
                    )
                    for number in range(runs)
                ),
            )
        )
    return Populations((Population("iops", 0, ("X100", "1,600 GB"), tuple(drives), ALL),), ())


def only(populations: Populations) -> Finding:
    (found,) = population_figures(populations).populations
    return found


def of(finding: Finding, name: Measured) -> ValueFigures:
    (value,) = [value for value in finding.values if value.key == name.key]
    return value


def named(finding: Finding) -> list[tuple[str, str]]:
    return sorted((one.drive, value.key) for value in finding.values for one in value.named)


def planted(manifest: Manifest) -> Populations:
    """Among 24, what is off by 17 standard deviations stands out, and by 9 is worth a look."""
    return lot(
        manifest,
        factor=lambda place: 0.92 if place == 3 else 1,
        kelvin=lambda place: {11: 7.0, 20: -3.8}.get(place, 0.0),
        tail=lambda place: 10.0 if place == 17 else 1,
    )


def test_sound_drives_are_not_named(manifest: Manifest) -> None:
    finding = only(lot(manifest))
    assert [(value.named, value.suspected, value.effects) for value in finding.values] == [([], [], [])] * 3
    assert finding.paths == ["host", "slot order", "start order"]


def test_a_slow_a_hot_and_an_uneven_drive_are_named_with_their_distance(manifest: Manifest) -> None:
    finding = only(planted(manifest))
    assert named(finding) == [("SN003", IOPS.key), ("SN011", HEAT.key), ("SN017", TAIL.key)]
    off = {one.drive: one.off for value in finding.values for one in value.named}
    assert off["SN003"] == pytest.approx(-8, abs=1)
    assert off["SN011"] == pytest.approx(7, abs=1)
    assert off["SN017"] == pytest.approx(900, abs=100)


def test_a_drive_that_is_less_far_off_is_worth_a_look(manifest: Manifest) -> None:
    value = of(only(lot(manifest, kelvin=lambda place: 4.0 if place == 20 else 0.0)), HEAT)
    assert [one.drive for one in value.suspected] == ["SN020"]
    assert 0.005 < value.suspected[0].chance <= 0.2
    assert value.named == []


def test_a_hot_drive_comes_with_the_slots_beside_it(manifest: Manifest) -> None:
    """Bay 4 of the second host, and the bays 3 and 5 of that host alone."""
    value = of(only(lot(manifest, kelvin=lambda place: {12: 9.0, 11: 6.0, 13: 6.5}.get(place, 0.0))), HEAT)
    (hot,) = [one for one in value.named if one.drive == "SN012"]
    assert list(hot.beside) == ["bay3", "bay5"]
    assert list(hot.beside.values()) == pytest.approx([6.0, 6.5], abs=1)
    assert named_line(value, hot).endswith("K, so that it may be the place")


@pytest.mark.parametrize(("least", "named_drives"), [(None, []), (0.0, ["SN003", "SN007"]), (5.0, [])])
def test_a_difference_that_is_of_no_interest_names_no_drive(
    manifest: Manifest, least: float | None, named_drives: list[str]
) -> None:
    """Two of eleven drives that are alike to a few millionths are off by 0.08 %."""
    (one,) = lot(manifest).populations
    drives = tuple(
        replace(
            drive,
            runs=(
                replace(
                    drive.first,
                    values=tuple(
                        of_drive(name, 100_000.0 * (0.9992 if place in {3, 7} else 1 + place * 1e-6))
                        for name in (IOPS, TAIL)
                    ),
                ),
            ),
        )
        for place, drive in enumerate(one.drives[:11])
    )
    populations = Populations((replace(one, drives=drives, names=(IOPS, TAIL)),), ())
    figures = population_figures(populations, *([] if least is None else [least]))
    value = of(figures.populations[0], IOPS)
    assert sorted(drive.drive for drive in value.named) == named_drives
    assert value.suspected == []
    low, high = value.named_below, value.named_above
    assert low is not None
    assert high is not None
    assert low <= value.median * (1 - figures.least_difference / 100) * (1 + 1e-12)
    assert high >= value.median * (1 + figures.least_difference / 100) * (1 - 1e-12)


def test_a_slow_host_is_an_effect_of_the_host_and_none_of_its_drives(manifest: Manifest) -> None:
    finding = only(lot(manifest, factor=lambda place: 0.95 if place // 8 == 1 else 1))
    assert named(finding) == []
    (effect,) = [effect for effect in of(finding, IOPS).effects if effect.path == "host"]
    assert list(effect.medians) == ["h0", "h1", "h2"]
    assert effect.medians["h1"] == pytest.approx(95_000, rel=0.01)


def test_a_slow_drive_behind_a_slow_host_is_held_against_that_host(manifest: Manifest) -> None:
    def factor(place: int) -> float:
        return (0.9 if place // 8 == 1 else 1) * (0.92 if place == 10 else 1)

    finding = only(lot(manifest, factor=factor))
    assert named(finding) == [("SN010", IOPS.key)]
    value = of(finding, IOPS)
    assert value.within == "host"
    assert value.named[0].off == pytest.approx(-8, abs=1)


def test_of_three_drives_in_a_host_the_middle_one_makes_the_others_no_outliers(manifest: Manifest) -> None:
    """It has no distance from their median: eight such drives would make the spacings of the others small."""
    for seed in range(6):
        (found,) = lot(manifest, factor=lambda place: 1 + 0.05 * (place // 3), seed=seed).populations
        drives = tuple(
            replace(one, runs=(replace(one.first, groups={"host": f"h{place // 3}"}),))
            for place, one in enumerate(found.drives)
        )
        value = of(only(Populations((replace(found, drives=drives),), ())), IOPS)
        assert value.within == "host"
        assert (value.named, value.suspected) == ([], [])


def test_drives_that_get_slower_along_the_slots_are_a_trend(manifest: Manifest) -> None:
    finding = only(lot(manifest, kelvin=lambda place: 0.5 * (place % 8)))
    assert named(finding) == []
    assert [len(value.effects) for value in finding.values] == [0, 0, 1]
    (effect,) = of(finding, HEAT).effects
    assert effect.path == "slot order"
    assert effect.end_to_end == pytest.approx(2.5, abs=0.7)


def test_runs_of_a_drive_are_one_drive_and_tell_the_repeatability(manifest: Manifest) -> None:
    value = of(only(lot(manifest, runs=3)), IOPS)
    assert len(value.drives) == DRIVES
    assert value.between_runs == pytest.approx(0.1, rel=0.3)
    assert value.between_drives == pytest.approx(0.4, rel=0.4)


def test_runs_under_other_conditions_of_a_campaign_are_another_population(tmp_path: Path) -> None:
    """A chamber is no condition of the test: the label tells."""
    made = []
    for seed, condition in product((1, 2), ("cool", "warm")):
        run = labeled(made_up_run("iops"), condition=condition, repetition="1")
        facts = {**run.manifest.dut, "serial": Fact(f"S-{seed}", "test")}
        run = replace(run, manifest=replace(run.manifest, dut=facts), folder=tmp_path / f"{seed}{condition}")
        made.append(drive_run(run))
    found = list(_populations(made))
    assert [one.title for one in found] == ["IOPS, cool, population 1", "IOPS, warm, population 2"]
    assert [len(one.drives) for one in found] == [2, 2]
    assert all("condition" not in run.groups and "repetition" not in run.groups for run in made)


def front(report: Report) -> list[str]:
    return [block.text for block in report.front[0].blocks if isinstance(block, Verdict)]


def test_what_the_first_page_says(manifest: Manifest, snapshot: SnapshotAssertion) -> None:
    populations = planted(manifest)
    report = build_population(populations, population_figures(populations))
    tables = report.tables()
    assert front(report) == snapshot(name="sentences")
    rows = tables["population-outliers"].rows
    assert [[cell.text for cell in (row.head, *row.cells)] for row in rows] == snapshot(name="outliers")


def test_the_table_of_drives_is_in_the_order_of_slots(manifest: Manifest) -> None:
    """What stands out is red, with its distance; the link is the same for all and said once."""
    populations = planted(manifest)
    shown = build_population(populations, population_figures(populations)).tables()["population-iops-drives"]
    assert [column.label for column in shown.columns[:3]] == ["Host", "Slot", "RND 4 KiB RW0 (IOPS)"]
    assert [[cell.text for cell in row.cells[:2]] for row in shown.rows] == [
        [f"h{host}", f"bay{bay}"] for host, bay in product(range(3), range(8))
    ]
    red = [(row.head.text, cell.note) for row in shown.rows for cell in row.cells if cell.tone == "fail"]
    assert [drive for drive, _ in red] == ["SN003", "SN011", "SN017"]
    assert shown.note.endswith("All drives: link 4.0 x4.")


def test_all_plots_are_drawn(manifest: Manifest) -> None:
    populations = planted(manifest)
    report = build_population(populations, population_figures(populations))
    assert len(report.figures()) == 6  # each value in order, and by slot
    assert len(draw_figures(report)) == 6


def test_figures_keep_their_schema(manifest: Manifest) -> None:
    populations = planted(manifest)
    figures = msgspec.json.decode(msgspec.json.encode(population_figures(populations)))
    validate(figures, msgspec.json.decode(OUTPUTS.read_bytes()))


def labeled(run: Run, **labels: str) -> Run:
    people = People(labels=labels)
    facts = {**run.manifest.dut, "serial": Fact("S-1", "test"), "pcie": Fact("4.0 x4", "test")}
    return replace(run, manifest=replace(run.manifest, people=people, dut=facts))


def test_a_run_brings_its_key_values_tails_place_and_labels() -> None:
    run = labeled(made_up_run("iops"), slot="7", host="rack-1", lot="A")
    found = drive_run(run)
    assert (found.drive, found.slot) == ("S-1", "7")
    assert found.groups["host"] == "rack-1"
    assert (found.groups["lot"], found.groups["link"]) == ("A", "4.0 x4")
    keys = [one.key for one in found.values]
    assert "rnd_4_kib_rw0.iops" in keys
    assert "rnd_4_kib_rw0.p99.9" in keys


def few(manifest: Manifest, drives: int) -> Populations:
    (one,) = lot(manifest).populations
    return Populations((replace(one, drives=one.drives[:drives]),), ())


def test_below_five_drives_one_sentence_stands_for_all_that_cannot_be_judged(
    manifest: Manifest, snapshot: SnapshotAssertion
) -> None:
    populations = few(manifest, 3)
    report = build_population(populations, population_figures(populations))
    texts = [block.text for page in report.pages() for block in page.blocks if isinstance(block, Verdict)]
    assert texts == snapshot
    cells = [
        cell
        for page in report.pages()
        for block in page.blocks
        if isinstance(block, Table)
        for row in block.rows
        for cell in row.cells
    ]
    assert not [cell for cell in cells if cell.tone == "missing"]


@pytest.mark.parametrize(("drives", "is_judged"), [(2, False), (4, False), (5, True)])
def test_five_drives_are_judged(manifest: Manifest, drives: int, *, is_judged: bool, golden: Golden) -> None:
    populations = few(manifest, drives)
    (front, *_) = build_population(populations, population_figures(populations)).pages()
    (table,) = (block for block in front.blocks if isinstance(block, Table))
    assert ("Stand out" in [column.label for column in table.columns]) == is_judged
    texts = " ".join(block.text for block in front.blocks if isinstance(block, Verdict))
    assert texts == golden


def test_the_command_reads_folders_of_runs_and_says_what_it_leaves_out(
    tmp_path: Path, golden: Golden
) -> None:
    for seed in (1, 2):
        target = f"theory?capacity=1GB&state=worn-in&seed={seed}"
        run_one_point(target, tmp_path / "lot" / f"run-{seed}", max_rounds=5, step_s=0.05, seed=seed)
    other = tmp_path / "lot" / "run-4"
    run_one_point("theory?capacity=2GB&state=worn-in", other, max_rounds=5, step_s=0.05)
    broken = tmp_path / "lot" / "run-3"
    broken.mkdir()
    (broken / "run.db").write_bytes(b"")
    answer = CliRunner().invoke(cli, ["population", str(tmp_path / "lot"), "--json"])
    assert answer.exit_code == 0
    figures = msgspec.json.decode(answer.output)
    validate(figures, msgspec.json.decode(OUTPUTS.read_bytes()))
    assert figures["drives"] == ["SIM0001", "SIM0002"]
    assert figures["least_difference"] == 1
    assert [one["title"] for one in figures["populations"]] == ["IOPS"]
    left_out = {one["run"]: one["reason"] for one in figures["left_out"]}
    assert left_out.keys() == {str(broken), str(other)}
    assert left_out[str(other)] == golden
    assert {one["reason"] for one in figures["populations"][0]["values"]} <= {
        "fewer than 5 values",
        "all values are equal",
    }
    alone = CliRunner().invoke(cli, ["population", str(tmp_path / "lot" / "run-1")])
    assert alone.exit_code == 1
    assert str(alone.exception) == golden

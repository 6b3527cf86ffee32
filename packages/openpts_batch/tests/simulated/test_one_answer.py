"""The same runs, asked of every command that reads several: one figure of a run, one rule of difference.

Commands are asked as an operator asks them. What they should say is SciPy's, and of made-up drives known
beforehand.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from openpts.analysis.run_comparison import FALSE_ALARM_LIMIT
from openpts.record.reader import read_run
from openpts.report.run_part import summarize
from openpts_compare.tests.simulated.test_gate import PRESET, invoke
from tests.support.oracle_presets import write_oracle

# Rates of made-up drives, a run of each: those of the base, and those held against them.
MADE_UP = {
    "alike": ((20_000, 20_300, 19_800), (20_100, 19_900, 20_200)),
    "slower": ((20_000, 20_300, 19_800), (18_500, 18_700, 18_400)),
    "two faster": ((20_000, 20_300), (21_000, 21_400)),
    "one against several": ((20_000, 20_300, 19_800, 20_050), (19_000,)),
    "many against few": ((20_000, 20_300, 19_800, 20_050, 19_950), (19_700, 19_950, 19_800)),
}
SLOWER_FLASH = "slower flash"
TP_KIB = {f"seq_{kib}_kib.{way}": kib for kib in (128, 1024) for way in ("write", "read")}
# What varies between runs of a simulated drive: its data's places are drawn by lot, its interface is exact.
VARYING = (
    "rnd_4_kib_rw0.end_zone_iops",
    "energy.loads.mean_w",
    "energy.writes.j_per_gb_written",
    "media.write_amplification",
)
ALARM_PCT, LEAST_ALARM_PCT, MOST_ALARM_PCT = 0.5, 0.001, 50
MOST_RUNS = 7


@dataclass(frozen=True)
class Sides:
    """Runs of two sets; ``rates`` are those of made-up drives, in the order of the runs."""

    test: str
    keys: tuple[str, ...]
    base: tuple[Path, ...]
    candidate: tuple[Path, ...]
    rates: tuple[float, ...] = ()

    @property
    def runs(self) -> tuple[Path, ...]:
        return self.base + self.candidate


@pytest.fixture(scope="module", params=[*MADE_UP, pytest.param(SLOWER_FLASH, marks=pytest.mark.slow)])
def name(request: pytest.FixtureRequest) -> str:
    named: str = request.param
    return named


@pytest.fixture(scope="module")
def sides(name: str, tmp_path_factory: pytest.TempPathFactory) -> Sides:
    """Each run is of a drive of its own; they are numbered through both sides."""
    place = tmp_path_factory.mktemp("sides")
    test, keys, rates = "wsat", VARYING, ()
    if name in MADE_UP:
        test, keys, rates = "tp", tuple(TP_KIB), tuple(rate for side in MADE_UP[name] for rate in side)
    runs = tuple(
        run_on(test, drive, number, place / str(number))
        for number, drive in enumerate(drives(place, name), 1)
    )
    bases = len(MADE_UP[name][0]) if name in MADE_UP else len(runs) // 2
    return Sides(test, keys, runs[:bases], runs[bases:], rates)


def drives(place: Path, name: str) -> Iterator[Path]:
    """The presets of all runs in turn, in one file: a drive's name is that of its file's."""
    if name in MADE_UP:
        yield from (write_oracle(place, [rate], name="drive") for side in MADE_UP[name] for rate in side)
        return
    text = PRESET.read_text().partition("# Published figures")[0]
    for program_us in (2880.0,) * 3 + (3052.8,) * 3:
        drive = place / "drive.toml"
        drive.write_text(text.replace("program_us = 2880.0", f"program_us = {program_us}"))
        yield drive


def run_on(test: str, drive: Path, seed: int, folder: Path, *more: object) -> Path:
    short = {"tp": ("--quick", "--time-scale", "1/600"), "wsat": ("--time-scale", "1/60")}[test]
    capacity = {"tp": "", "wsat": "&capacity=4GB"}[test]
    words = (*short, "--no-report", "--seed", seed, "--out", folder, *more)
    invoke("run", test, f"sim:{drive}?seed={seed}{capacity}", *words)
    return folder


def asked(*words: object) -> dict[str, Any]:
    """The object that a command prints, whatever its verdict."""
    answer: dict[str, Any] = json.loads(invoke(*words, "--json")[1])
    return answer


def compared(sides: Sides) -> dict[str, list[dict[str, Any]]]:
    """Base and candidate of each key value, as `compare` has them."""
    labels = [f"--label={run}=base" for run in sides.base] + [f"--label={run}=new" for run in sides.candidate]
    (test,) = asked("compare", *sides.runs, *labels)["tests"]
    return {value["key"]: value["sets"] for value in test["key_values"] if value["key"] in sides.keys}


def limits_file(place: Path, *limits: str, false_alarm_pct: float = ALARM_PCT) -> Path:
    path = place / "limits.toml"
    path.write_text(
        f'allow = ["deviations", "not steady"]\nlimits = {json.dumps(limits)}\n[statistics]\n'
        f"false_alarm_pct = {false_alarm_pct!r}\nmost_runs = {MOST_RUNS}\n"
    )
    return path


@pytest.mark.full_matrix(most=1)
def test_a_figure_of_a_run_is_one_number_everywhere(sides: Sides, tmp_path: Path) -> None:
    found = compared(sides)
    limits = limits_file(tmp_path, *(f"{sides.test}.{key} >= 0.001" for key in sides.keys))
    gated = [asked("gate", run, "--limits", limits)["limits"] for run in sides.runs]
    for place, key in enumerate(sides.keys):
        warm = [value for one in found[key] for value in one["warm"]]
        assert [of_run[place]["value"] for of_run in gated] == warm
        if sides.rates:
            assert warm == pytest.approx([rate * TP_KIB[key] * 1024 / 1e6 for rate in sides.rates], rel=1e-6)


@pytest.mark.full_matrix(most=1)
def test_compare_and_gate_have_one_rule_of_difference(sides: Sides, tmp_path: Path) -> None:
    """A gate that may err a little more often than `compare`'s chance fails a limit of no change, and one
    that may a little less often does not.
    """
    for key, (base, new) in compared(sides).items():
        before, after = np.log(base["warm"]), np.log(new["warm"])
        assert new["chance_pct"] == pytest.approx(100 * stats.ttest_ind(before, after).pvalue, abs=1e-8)
        ratio = math.exp(after.mean() - before.mean())
        limit = f"{sides.test}.{key} {'>=' if ratio < 1 else '<='} 1 x"
        limits = (limit, f"{sides.test}.{key} >= 0.1 x")  # which has its share of the errors too
        for share, fails in ((0.999, False), (1.001, True)):
            of_whole_gate_pct = share * new["chance_pct"] / 2 * len(limits) * MOST_RUNS
            if LEAST_ALARM_PCT <= of_whole_gate_pct < MOST_ALARM_PCT:
                file = limits_file(tmp_path, *limits, false_alarm_pct=of_whole_gate_pct)
                words = ("--limits", file, "--baseline", *sides.base)
                judged, _ = asked("gate", *sides.candidate, *words)["limits"]
                assert judged["value"] == pytest.approx(ratio)
                assert (judged["judgement"] == "fail") is fails


@pytest.mark.parametrize(
    "name", ["slower", pytest.param(SLOWER_FLASH, marks=pytest.mark.slow)], indirect=True
)
def test_three_against_three_can_differ(sides: Sides, tmp_path: Path) -> None:
    """To `compare` with all lines considered, and to a gate with a seventh of its errors at this look."""
    rate = f"{sides.test}.{sides.keys[0]}"
    _, new = compared(sides)[sides.keys[0]]
    assert new["outcome"] == "different"
    assert new["corrected_chance_pct"] <= 100 * FALSE_ALARM_LIMIT
    file = limits_file(tmp_path, f"{rate} >= 1 x")
    answer = asked("gate", *sides.candidate, "--limits", file, "--baseline", *sides.base)
    assert (answer["verdict"], answer["limits"][0]["runs"], answer["limits"][0]["base_runs"]) == (
        "fail",
        3,
        3,
    )


@pytest.mark.parametrize("name", ["alike"], indirect=True)
def test_three_that_are_alike_do_not(sides: Sides, tmp_path: Path) -> None:
    assert {new["outcome"] for _, new in compared(sides).values()} == {"no difference shown"}
    limits = (f"tp.{key} {sign} 1 x" for key in sides.keys for sign in (">=", "<="))
    answer = asked(
        "gate", *sides.candidate, "--limits", limits_file(tmp_path, *limits), "--baseline", *sides.base
    )
    assert answer["verdict"] == "no verdict"


@pytest.mark.full_matrix(most=1)
def test_a_run_judges_itself_as_gate_and_compare_do(sides: Sides, tmp_path: Path) -> None:
    """Another run of the last drive, measured with limits."""
    file = limits_file(tmp_path, *(f"{sides.test}.{key} >= 1 x" for key in sides.keys))
    words = ("--limits", file, "--baseline", *sides.base)
    drive = sides.base[0].parent / "drive.toml"
    run = run_on(sides.test, drive, 99, tmp_path / "run", *words)
    own, gated = summarize(read_run(run)), asked("gate", run, *words)
    assert (own["verdict"], json.loads(json.dumps(own["limits"]))) == (gated["verdict"], gated["limits"])
    found = compared(Sides(sides.test, sides.keys, sides.base, (run,)))
    share_pct = ALARM_PCT / len(sides.keys) / MOST_RUNS
    for key, judged in zip(sides.keys, gated["limits"], strict=True):
        base, new = found[key]
        assert judged["value"] == pytest.approx(new["warm"][0] / stats.gmean(base["warm"]))
        is_worse = judged["value"] < 1 and new["chance_pct"] / 2 < share_pct
        assert (judged["judgement"] == "fail") is is_worse

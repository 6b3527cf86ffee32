"""Three samples of one simulated drive beside another kind, through the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from openpts.errors import RecordError, UsageError
from tests.support.transcript import Golden

SHORT = ("--tests", "lat,tp", "--time-scale", "1/120", "--no-report")


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("suites")
    targets = {f"tlc-{seed}": f"sim:enterprise-tlc?capacity=2GB&seed={seed}" for seed in (1, 2, 3)}
    targets["qlc"] = "sim:client-qlc?capacity=2GB&seed=4"
    for name, target in targets.items():
        command = [
            "run",
            "all",
            target,
            *SHORT,
            "--class",
            "enterprise",
            "--seed",
            "5",
            "--out",
            str(root / name),
        ]
        result = CliRunner().invoke(cli, command, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    return {name: root / name for name in targets}


def compare(*words: str) -> str:
    result = CliRunner().invoke(cli, ["compare", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def labeled(suites: dict[str, Path]) -> list[str]:
    labels = [f"--label={suites[f'tlc-{seed}']}=tlc" for seed in (1, 2, 3)]
    return [*map(str, suites.values()), *labels]


@pytest.fixture(scope="module")
def found(suites: dict[str, Path]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(compare(*labeled(suites), "--json"))
    return answer


def test_the_other_way_round_the_deltas_are_inverse(found: dict[str, Any], suites: dict[str, Path]) -> None:
    other = json.loads(compare(*labeled(suites), "--base", "client-qlc", "--json"))
    assert other["names"] == ["client-qlc", "tlc"]
    for there, back in zip(found["tests"], other["tests"], strict=True):
        inverse = {value["key"]: value for value in back["key_values"]}
        for value in there["key_values"]:
            if (delta := value["sets"][1]["delta_pct"]) is not None:
                returned = inverse[value["key"]]["sets"][1]["delta_pct"]
                assert (1 + delta / 100) * (1 + returned / 100) == pytest.approx(1)


def test_it_is_written_as_page_print_and_data(
    suites: dict[str, Path], tmp_path: Path, golden: Golden
) -> None:
    text = compare(*labeled(suites), "--out", str(tmp_path))
    assert text.partition("\n\n")[0] == golden
    assert (tmp_path / "comparison.pdf").read_bytes().startswith(b"%PDF")
    report = json.loads((tmp_path / "comparison.json").read_text())
    kinds = {block["kind"] for one in report["front"] for block in one["blocks"] if block["type"] == "figure"}
    assert kinds == {"bars", "strip", "lines"}
    (csv,) = tmp_path.glob("**/compare-lat-sets.csv")
    assert csv.read_text().startswith("# SHORTENED RUN, SIMULATED")


def test_one_run_and_runs_without_a_test_in_common_are_refused(suites: dict[str, Path]) -> None:
    lat, tp = suites["tlc-1"] / "1-lat", suites["qlc"] / "2-tp"
    with pytest.raises(UsageError, match="cannot compare 1 run"):
        compare(str(lat))
    with pytest.raises(UsageError, match=r"two of the names \(enterprise-tlc has lat; client-qlc has tp\)"):
        compare(str(lat), str(tp))


def test_a_folder_that_is_no_run_is_refused(suites: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a run folder"):
        compare(str(suites["qlc"]), str(tmp_path))


@pytest.mark.parametrize("label", ["name", "=name", "folder="])
def test_a_label_without_a_run_or_a_name_is_refused(suites: dict[str, Path], label: str) -> None:
    with pytest.raises(UsageError, match="write RUN=NAME"):
        compare(str(suites["qlc"]), "--label", label)


def test_redacted_it_names_no_serial_number(suites: dict[str, Path], tmp_path: Path) -> None:
    seeds = [str(suites[f"tlc-{seed}"]) for seed in (1, 2, 3)]
    assert "SIM0002" in compare(*seeds)
    shown = compare(*seeds, "--redact", "--csv", "--out", str(tmp_path))
    machine = compare(*seeds, "--redact", "--json")
    written = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    for text in (shown, machine, written):
        assert "REDACTED-" in text
        assert "SIM000" not in text

"""The plans that ship, as the command line lists, shows and takes them."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from openpts.cli.plan import plan_command
from openpts.config_files.toml_text import read_toml
from openpts.errors import UsageError
from openpts.parameters.plan_file import parse_plan
from openpts.parameters.shipped_plans import shipped_names, shipped_plan


def output(*words: str) -> str:
    result = CliRunner().invoke(plan_command, ["--list", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_list_has_each_with_its_title() -> None:
    lines = output().splitlines()
    found = json.loads(output("--json"))["plans"]
    assert [one["name"] for one in found] == list(shipped_names())
    assert all(line.startswith(one["name"]) for line, one in zip(lines, found, strict=True))
    (tkperf,) = [one for one in found if one["name"] == "tkperf"]
    assert tkperf["tests"] == ["iops", "tp", "lat", "wsat"]


def test_a_pipe_gets_the_file() -> None:
    program = "from openpts.cli.main import main; main()"
    shown = subprocess.run(
        [sys.executable, "-c", program, "plan", "--list", "tkperf"], capture_output=True, check=True
    )
    assert shown.stdout == shipped_plan("tkperf")


@pytest.mark.parametrize("name", shipped_names())
def test_what_is_shown_of_one_is_a_plan_to_copy(name: str) -> None:
    assert output(name).encode() == shipped_plan(name)
    assert parse_plan(output(name).encode(), "mine.toml", read_toml).settings["title"]


def test_a_wrong_name_is_refused_with_the_near_one() -> None:
    with pytest.raises(UsageError, match=r"there is no plan 'tkpref': did you mean tkperf\?"):
        output("tkpref")


@pytest.mark.parametrize(
    "words", [["--json"], ["--list", "tkperf", "iops"], ["--schema", "iops"], ["--json", "iops"]]
)
def test_a_list_is_of_no_test(words: list[str]) -> None:
    with pytest.raises(UsageError, match="--json"):
        CliRunner().invoke(plan_command, words, catch_exceptions=False)


@pytest.mark.proves("TKP-TP-01", "TKP-LAT-01", "TKP-WSAT-01", "TKP-IOPS-04")
def test_a_plan_by_name_sets_the_conditions_of_a_test() -> None:
    words = ["tp", "--capacity", "1TB", "--plan", "tkperf", "--max-rounds", "6", "--json"]
    result = CliRunner().invoke(plan_command, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    conditions = json.loads(result.stdout)["conditions"]
    assert (conditions["tc"], conditions["qd"], conditions["precondition_passes"]) == (4, 64, 0)
    assert [size // 512 for size in conditions["block_sizes_bytes"]] == [2048, 128, 16, 8, 1]
    assert conditions["max_rounds"] == 6

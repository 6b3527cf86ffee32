"""`openpts plan`: hours, bytes and wear by hand, and nothing touched."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openpts.cli.plan import plan_command
from openpts.config_files.toml_text import read_toml
from openpts.errors import UsageError
from openpts.parameters.plan_file import parse_plan
from openpts.parameters.shipped_plans import shipped_names, shipped_plan
from openpts.units import KIB
from openpts_pts.conformance.catalogue import PTS
from tests.support.refusals import refusal

SIZES = (1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512)
MIXES = (100, 95, 65, 50, 35, 5, 0)
TERABYTE = 10**12


def text_of(*words: str) -> str:
    result = CliRunner().invoke(plan_command, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def plan_of(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of(*words, "--json"))
    return found


def test_a_test_without_a_purge_tells_of_none_and_takes_no_method(golden) -> None:
    text = text_of("pstates", "--capacity", "1TB")
    assert text == golden
    refused = CliRunner().invoke(plan_command, ["pstates", "--capacity", "1TB", "--purge", "none"])
    assert refused.exit_code == 2


def test_every_step_of_a_round_is_there_in_its_order() -> None:
    blocks = plan_of("iops", "--capacity", "1TB")["blocks"]
    assert [(b["count"], [p["phase"] for p in b["parts"]]) for b in blocks] == [
        (1, ["wipc"]),
        (25, ["round"]),
    ]
    steps = [step for again in blocks[1]["parts"][0]["steps"] for step in again["steps"]]
    stimuli = [step["streams"][0]["stimulus"] for step in steps]
    points = [(s["operations"].get("read", 0), s["block_sizes"][0]["block_size_bytes"]) for s in stimuli]
    assert points == [(mix, size) for mix in MIXES for size in SIZES]


def test_an_amount_of_a_mix_says_that_it_counts_reads(golden) -> None:
    """4 x 1 TB of writes are 11,429 GB of RW65 in all."""
    words = ("--capacity", "1TB", "--workloads", "write_intensive,oltp", "--steps")
    assert text_of("wsat", *words) == golden


def test_the_text_tells_rounds_once_and_waits_in_their_order(golden) -> None:
    assert text_of("hir", "--capacity", "1TB", "--steps") == golden


@pytest.mark.parametrize("name", list(PTS))
@pytest.mark.parametrize("drive_class", ["enterprise", "client"])
def test_every_test_can_be_planned(name, drive_class, golden) -> None:
    assert text_of(name, "--capacity", "1.92TB", "--class", drive_class) == golden


def test_a_plan_begins_with_what_it_takes_and_has_steps_where_asked(golden) -> None:
    assert text_of("hir", "--capacity", "1TB", "--tbw", "600") == golden


def test_a_suite_takes_what_its_tests_take_together() -> None:
    words = ("--capacity", "1TB", "--tbw", "600")
    document = plan_of("all", *words, "--tests", "lat,hir")
    alone = [plan_of(name, *words) for name in ("lat", "hir")]
    for extent in ("shortest", "longest"):
        for one, plan in zip(alone, document["plans"], strict=True):
            assert plan[extent] == one[extent]
    lines = text_of("all", *words, "--tests", "lat,hir").splitlines()
    hours = [sum(one[extent]["duration_ns"] for one in alone) / 3.6e12 for extent in ("shortest", "longest")]
    said = [int(h) + int(m) / 60 for h, m in re.findall(r"(\d+) h (\d+) min", lines[2])]
    assert said == pytest.approx(hours, abs=1 / 60)
    written = sum(one["longest"]["written_bytes"] for one in alone)
    assert f"to {written / 1e9:,.0f} GB" in lines[3]
    assert f"to {100 * written / 600e12:.2g} % of the rated 600,000 GB" in lines[4]
    # a record of as many steps as the longest runs have, by what plan.md states of a second
    seconds = sum(one["longest"]["duration_ns"] for one in alone) / 1e9
    space = re.search(r"([\d.]+) (GB|MB)", lines[5])
    assert float(space[1]) * {"GB": 1e9, "MB": 1e6}[space[2]] < 2 * 6500 * seconds


def test_the_ledger_is_that_of_the_run() -> None:
    ledger = plan_of("iops", "--capacity", "1TB", "--tc", "1", "--max-rounds", "7", "--purge", "none")[
        "ledger"
    ]
    assert {one["rule_id"] for one in ledger} == {"PTS-IOPS-05", "PTS-IOPS-11", "PTS-PRG-01"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--capacity", "1TB"], "auto, if the drive supports it"),
        (["--capacity", "1TB", "--purge", "none"], "none"),
        (
            ["--capacity", "1TB", "--purge", "nvme-format,discard"],
            "nvme-format,discard, if the drive supports it",
        ),
        (["sim:client-qlc?capacity=64GB"], "its own"),
    ],
)
def test_the_plan_tells_of_the_purge(words, text) -> None:
    assert plan_of("iops", *words)["purge"] == text


def test_a_plan_of_a_run_on_a_drive_that_is_only_overwritten_has_an_entry() -> None:
    (entry,) = plan_of("iops", "--capacity", "1TB", "--purge", "overwrite")["ledger"]
    assert (entry["rule_id"], entry["used"]) == (
        "PTS-PRG-01",
        "no purge: one sequential pass of random data (NO PURGE)",
    )


@pytest.mark.on_disk
def test_a_file_is_planned_for_and_not_created(tmp_path) -> None:
    found = plan_of("xsr", f"file:{tmp_path}/scratch?size=512MiB")
    assert found["user_capacity_bytes"] == 512 * 1024 * KIB
    assert {one["rule_id"] for one in found["ledger"]} >= {"PTS-GEN-05", "PTS-PRG-03", "PTS-CACHE-01"}
    assert list(tmp_path.iterdir()) == []


def test_a_simulated_drive_is_planned_for_without_running(golden) -> None:
    found = plan_of("cbw", "sim:client-qlc?capacity=64GB", "--time-scale", "1/2")
    assert found["target"] == "sim:client-qlc"
    assert found["ledger"][0]["used"] == golden
    assert found["shortened"]


def test_a_plan_file_counts_and_options_win(tmp_path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[iops]\nmax_rounds = 9\ntc = 2\n")
    conditions = plan_of("iops", "--capacity", "1TB", "--plan", str(plan), "--tc", "3")["conditions"]
    assert (conditions["max_rounds"], conditions["tc"]) == (9, 3)


def test_what_a_run_would_refuse_is_refused(golden) -> None:
    cases = (
        ("sim:oracle", "--capacity", "1TB"),
        ("sim:none",),
        ("/dev/none",),
        ("file:/none/x?size=1MiB",),
        ("--capacity", "4MiB"),
        ("--capacity", "1TB", "--block-sizes", "4000"),
    )
    assert [
        refusal(CliRunner().invoke, plan_command, ["iops", *words], catch_exceptions=False) for words in cases
    ] == golden


@pytest.mark.parametrize(("text", "terabytes"), [("1.2PB", 1200), ("600TB", 600), ("600", 600), ("0.5", 0.5)])
def test_an_endurance_without_a_unit_is_in_terabytes(text, terabytes) -> None:
    found = plan_of("xsr", "--capacity", "1TB", "--tbw", text)["longest"]
    assert found["tbw_share"] == pytest.approx(found["written_bytes"] / (terabytes * TERABYTE))


def test_a_share_may_have_its_sign_and_asks_for_the_short_form() -> None:
    plans = [plan_of("iops", "--capacity", "1TB", *words) for words in (("--within", "5%"), ("--short",))]
    assert plans[0] == plans[1]
    assert plans[0] != plan_of("iops", "--capacity", "1TB")


@pytest.mark.parametrize("text", ["0", "-1", "many", "nan"])
def test_an_endurance_that_makes_no_sense_is_refused(text) -> None:
    result = CliRunner().invoke(plan_command, ["xsr", "--capacity", "1TB", "--tbw", text])
    assert result.exit_code == 2


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


@pytest.mark.parametrize("name", shipped_names())
def test_what_is_shown_of_one_is_a_plan_to_copy(name) -> None:
    assert output(name).encode() == shipped_plan(name)
    assert parse_plan(output(name).encode(), "mine.toml", read_toml).settings["title"]


def test_a_wrong_name_is_refused_with_the_near_one() -> None:
    with pytest.raises(UsageError, match=r"there is no plan 'tkpref': did you mean tkperf\?"):
        output("tkpref")


@pytest.mark.parametrize(
    "words", [["--json"], ["--list", "tkperf", "iops"], ["--schema", "iops"], ["--json", "iops"]]
)
def test_a_list_is_of_no_test(words) -> None:
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


def test_a_shipped_plan_that_is_followed_is_not_called_shortened(tmp_path: Path) -> None:
    """TKperf has no preconditioning for throughput. What is cut from the plan is marked, and so is a copy."""
    words = ("tp", "sim:enterprise-tlc")
    (tmp_path / "mine.toml").write_bytes(shipped_plan("tkperf") + b"# changed\n")
    marked = {
        options: plan_of(*words, *options)["shortened"]
        for options in (
            ("--plan", "tkperf"),
            ("--plan", "tkperf", "--step-seconds", "30"),
            ("--plan", str(tmp_path / "mine.toml")),
            ("--precondition-passes", "0"),
        )
    }
    assert list(marked.values()) == [False, True, True, True]

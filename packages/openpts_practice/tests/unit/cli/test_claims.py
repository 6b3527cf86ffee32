"""Values of a data sheet on the command line: an option that may be repeated."""

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from openpts.cli.procedure_options import chosen, overrides_from, parameter_options
from openpts.config_files.written_file import WrittenFileError
from openpts.parameters.overrides import Overrides
from openpts.parameters.plan_file import read_plan
from openpts.procedures.registry import PROCEDURES
from openpts.vocabulary.drive_class import DriveClass
from openpts_practice.rows.sustained import DataSheetClaim

SUSTAINED = PROCEDURES["sustained"]


def given(*words: str) -> Overrides:
    """What the words say, as `openpts run sustained` reads them."""
    found: list[Overrides] = []

    @click.command()
    def command(**options: Any) -> None:
        found.append(overrides_from(SUSTAINED.conditions, options))

    for option in parameter_options(SUSTAINED):
        command = option(command)
    result = CliRunner().invoke(command, words, standalone_mode=False)
    if result.exception:
        raise result.exception
    return found[0]


def claims(given_words: Overrides, plan: Path | None = None) -> tuple[DataSheetClaim, ...]:
    read = None if plan is None else read_plan(plan)
    choices = chosen(SUSTAINED, read, given_words, drive_class=None, is_quick=False, seed=1)
    conditions: Any = choices.adjust(SUSTAINED.standard_conditions(DriveClass.CLIENT, 1))
    return tuple(conditions.claims)


def test_each_claim_has_its_unit_in_its_name() -> None:
    words = ("--claim", "random_write_iops=70000", "--claim", "sequential_read_mb_per_s = 3500")
    # in the order in which the figures are measured
    assert claims(given(*words)) == (
        DataSheetClaim("sequential_read", 3500),
        DataSheetClaim("random_write", 70_000),
    )


def test_none_is_none() -> None:
    assert "claims" not in given().values
    assert claims(given()) == ()


@pytest.mark.parametrize(
    ("word", "figure", "value"),
    [
        ("random_read_iops=7,000", "random_read", 7000),
        ("random_read_iops=1.4M", "random_read", 1_400_000),
        ("random_read_iops=1,400K IOPS", "random_read", None),
        ("random_read_iops=1,400KIOPS", "random_read", 1_400_000),
        ("sequential_read_mb_per_s=5.1GB/s", "sequential_read", 5100),
        ("sequential_read_mb_per_s=7,000 MB/s", "sequential_read", 7000),
        ("sequential_read_mb_per_s=1GiB/s", "sequential_read", 1073.741824),
        ("sequential_read_mb_per_s=5.1G", "sequential_read", None),
        ("sequential_read_mb_per_s=7,00", "sequential_read", None),
        ("random_read_iops=5.1GB/s", "random_read", None),
    ],
)
def test_claims_are_taken_as_data_sheets_print_them(word, figure, value) -> None:
    if value is None:
        with pytest.raises(click.BadParameter):
            given("--claim", word)
    else:
        assert claims(given("--claim", word)) == (DataSheetClaim(figure, value),)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("random_write_iops",), "write it as NAME=VALUE"),
        (("iops=5",), "unknown field `iops`; known are sequential_write_mb_per_s"),
        (("random_write_iops=many",), "a number"),
        (("random_write_iops=0",), "> 0.0"),
        (("random_write_iops=inf",), "is not a number"),
        (("random_write_iops=1", "random_write_iops=2"), "is given twice"),
    ],
)
def test_what_makes_no_sense_is_refused(words, reason) -> None:
    options = [piece for word in words for piece in ("--claim", word)]
    with pytest.raises(click.BadParameter) as refused:
        given(*options)
    assert reason in refused.value.message


def test_a_plan_has_a_table_and_the_command_line_wins(tmp_path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[sustained.claims]\nrandom_write_iops = 520_000\n")
    assert claims(Overrides(), plan) == (DataSheetClaim("random_write", 520_000),)
    assert claims(given("--claim", "random_read_iops=9"), plan) == (DataSheetClaim("random_read", 9),)


def test_a_plan_with_an_unknown_claim_is_told_its_place(tmp_path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[sustained.claims]\nrandom_writes = 520_000\n")
    with pytest.raises(WrittenFileError, match=r"plan\.toml:2:1: unknown key random_writes in claims"):
        read_plan(plan)

"""Options and plan files of the practice tests: each parameter sets its field, and help names its value."""

from typing import Any

import pytest

from openpts.cli.parameter_options import given_as_options, parameter_options
from openpts.cli.test_help import help_of
from openpts.cli.test_options import chosen
from openpts.parameters.given import Given, conditions_of
from openpts.parameters.setting import Parameter, parameters_of
from openpts.parameters.tables import TABLES
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.dry_run import Ending, dry_run
from openpts.practice.registry import PRACTICE_TESTS
from openpts.pts.definition import TestDefinition
from openpts.pts.standard import shortened
from openpts.vocabulary.conditions import Profile
from tests.unit.parameters.changed_values import changed_value

NAMES = ("entropy", "sustained", "profile", "precon", "hdd")
TESTS = [PRACTICE_TESTS[name] for name in NAMES]
EACH = [
    pytest.param(test, parameter, id=f"{test.name}-{parameter.name}")
    for test in TESTS
    for parameter in parameters_of(TABLES[test.name]).values()
]
SCRATCH_BYTES = 256 * 1024**2


def quick(test: TestDefinition) -> Any:
    choices = chosen(test, None, Given(), profile=None, is_quick=True, seed=1)
    return choices.adjust(test.standard_conditions(Profile.ENTERPRISE, 1))


@pytest.mark.parametrize(("test", "parameter"), EACH)
@pytest.mark.parametrize("profile", list(Profile))
def test_each_parameter_sets_its_field(test: TestDefinition, parameter: Parameter, profile: Profile) -> None:
    standard = test.standard_conditions(profile, 1)
    value = changed_value(parameter.name, standard)
    used = conditions_of(Given({parameter.name: value}, {parameter.name: parameter.option}), standard)
    assert getattr(used, parameter.setting.field) != getattr(standard, parameter.setting.field)


@pytest.mark.parametrize(("test", "parameter"), EACH)
@pytest.mark.parametrize("profile", list(Profile))
def test_the_value_that_the_help_names_is_the_standard(
    test: TestDefinition, parameter: Parameter, profile: Profile
) -> None:
    standard = test.standard_conditions(profile, 1)
    shown = parameter.setting.show(standard)
    if not shown or shown in {"yes", "no"}:
        return
    options: dict[str, Any] = {f"parameter_{name}": None for name in parameters_of(TABLES[test.name])}
    option = next(one for one in _options(test) if one.name == f"parameter_{parameter.name}")
    options[f"parameter_{parameter.name}"] = option.type_cast_value(None, shown)
    assert conditions_of(given_as_options(TABLES[test.name], options), standard) == standard


def _options(test: TestDefinition) -> list[Any]:
    def command() -> None:
        pass

    for option in parameter_options(test):
        option(command)
    return list(command.__click_params__)  # type: ignore[attr-defined]


@pytest.mark.parametrize("test", TESTS, ids=NAMES)
def test_a_quick_look_takes_minutes_and_is_known_as_short(test: TestDefinition) -> None:
    drive = AssumedDrive(write_bytes_per_s=200e6, write_iops=20_000)
    planned = dry_run(test.script(quick(test), SCRATCH_BYTES), SCRATCH_BYTES, drive, Ending.LONGEST)
    assert 5 < sum(sum(one.durations_ns) for one in planned) / 1e9 < 5 * 60
    assert shortened(quick(test), test.standard_conditions(Profile.ENTERPRISE, 1))


@pytest.mark.parametrize("test", TESTS, ids=NAMES)
def test_the_help_says_what_the_test_is_for(test: TestDefinition) -> None:
    assert "practice beyond PTS" in help_of(test)

"""Each parameter of each test sets what it says, and nothing that it sets goes unsaid."""

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from openpts.cli.parameter_options import given_as_options, parameter_options
from openpts.conformance.catalogue import by_id
from openpts.fields.field import Parameter, fields_of, parameters_of
from openpts.parameters.overrides import Given, conditions_of
from openpts.procedures.kit.ledger import RULES_OF_ALL, deviations
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import PROCEDURES, PTS
from openpts.vocabulary.drive_class import DriveClass
from tests.unit.parameters.changed_values import CHANGED, changed_value

# 13.2 (6.3), 14.2 (5.3): one at least, and no parameter gives fewer.
ALLOWED = {"mid_points"}


def _each(tests: Iterable[Procedure]) -> list[Any]:
    return [
        pytest.param(test, parameter, id=f"{test.name}-{parameter.name}")
        for test in tests
        for parameter in parameters_of(test.conditions).values()
    ]


def _with(parameter: Parameter, value: Any, standard: Any) -> Any:
    return conditions_of(Given({parameter.name: value}, {parameter.name: parameter.option}), standard)


@pytest.mark.with_plugins
def test_every_parameter_of_every_test_has_a_changed_value() -> None:
    named = itertools.chain.from_iterable(parameters_of(test.conditions) for test in PROCEDURES.values())
    assert set(CHANGED) == set(named)


@pytest.mark.parametrize("test", PROCEDURES.values(), ids=list(PROCEDURES))
def test_every_field_is_described_and_every_offered_one_has_a_help(test: Procedure) -> None:
    assert list(fields_of(test.conditions)) == list(test.conditions.__struct_fields__)
    for parameter in parameters_of(test.conditions).values():
        assert parameter.description.endswith(".")
        assert parameter.field in test.conditions.__struct_fields__


@pytest.mark.parametrize(("test", "parameter"), _each(PTS.values()))
@pytest.mark.parametrize("drive_class", list(DriveClass))
def test_what_differs_from_the_standard_is_in_the_ledger_under_a_requirement(
    test: Procedure, parameter: Parameter, drive_class: DriveClass
) -> None:
    standard = test.standard_conditions(drive_class, 1)
    used = _with(parameter, changed_value(parameter.name, standard), standard)
    field = parameter.field
    assert getattr(used, field) != getattr(standard, field)
    is_free = fields_of(test.conditions)[field].free and field not in {rule.name for rule in test.rules}
    if field in ALLOWED or is_free:
        return
    entries = deviations(used, standard, test.rules)
    assert entries
    for entry in entries:
        assert entry.rule_id in by_id()
        assert entry.required != entry.used
        assert entry.effect
        assert entry.clause


@pytest.mark.parametrize("test", PTS.values(), ids=list(PTS))
def test_every_field_of_the_conditions_has_a_rule_or_a_reason_to_have_none(test: Procedure) -> None:
    fields = fields_of(test.conditions)
    ruled = {rule.name for rule in (*test.rules, *RULES_OF_ALL)}
    assert [name for name, field in fields.items() if name not in ruled and not field.free] == []
    assert {rule.name for rule in test.rules} <= set(fields)


@pytest.mark.parametrize(("test", "parameter"), _each(PROCEDURES.values()))
@pytest.mark.parametrize("drive_class", list(DriveClass))
def test_the_value_that_the_help_names_is_that_of_the_specification(
    test: Procedure, parameter: Parameter, drive_class: DriveClass
) -> None:
    standard = test.standard_conditions(drive_class, 1)
    shown = parameter.shown(standard)
    if not shown or shown in {"yes", "no"}:
        return
    options = {f"parameter_{name}": None for name in parameters_of(test.conditions)}
    option = next(option for option in _options(test) if option.name == f"parameter_{parameter.name}")
    options[f"parameter_{parameter.name}"] = option.type_cast_value(None, shown)
    assert conditions_of(given_as_options(test.conditions, options), standard) == standard


def _options(test: Procedure) -> list[Any]:
    def command() -> None:
        pass

    for option in parameter_options(test):
        option(command)
    return list(command.__click_params__)  # type: ignore[attr-defined]

"""Each parameter of each test sets what it says, and nothing that it sets goes unsaid."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from openpts.cli.procedure_options import overrides_from, parameter_options
from openpts.fields.field import Field, fields_of, parameters_of
from openpts.parameters.overrides import Overrides, conditions_of
from openpts.procedures.kit.ledger import RULES_OF_ALL, deviations
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import PROCEDURES
from openpts.vocabulary.drive_class import DriveClass
from openpts_pts.conformance.catalogue import PTS, by_id
from tests.support.changed_values import CHANGED, changed_value

# 13.2 (6.3), 14.2 (5.3): one at least, and no parameter gives fewer.
ALLOWED = {"mid_points"}


def _each(test: Procedure) -> Iterator[tuple[Field, Any]]:
    """Its parameters, and the standard conditions of each drive class."""
    return itertools.product(
        parameters_of(test.conditions).values(),
        [test.standard_conditions(drive_class, 1) for drive_class in DriveClass],
    )


def _with(parameter: Field, value: Any, standard: Any) -> Any:
    return conditions_of(Overrides({parameter.name: value}, {parameter.name: parameter.option}), standard)


def test_every_parameter_of_every_test_has_a_changed_value() -> None:
    named = itertools.chain.from_iterable(parameters_of(test.conditions) for test in PROCEDURES.values())
    assert set(CHANGED) == set(named)


@pytest.mark.parametrize("test", PROCEDURES.values(), ids=list(PROCEDURES))
def test_every_field_is_described_and_every_offered_one_has_a_help(test) -> None:
    assert list(fields_of(test.conditions)) == list(test.conditions.__struct_fields__)
    for parameter in parameters_of(test.conditions).values():
        assert parameter.help.endswith(".")
        assert parameter.field in test.conditions.__struct_fields__


@pytest.mark.parametrize("test", PTS.values(), ids=list(PTS))
def test_what_differs_from_the_standard_is_in_the_ledger_under_a_requirement(test) -> None:
    for parameter, standard in _each(test):
        used = _with(parameter, changed_value(parameter.name, standard), standard)
        field = parameter.field
        assert getattr(used, field) != getattr(standard, field), field
        is_free = fields_of(test.conditions)[field].free and field not in {rule.name for rule in test.rules}
        if field in ALLOWED or is_free:
            continue
        entries = deviations(used, standard, test.rules)
        assert entries, field
        for entry in entries:
            assert entry.rule_id in by_id()
            assert entry.required != entry.used
            assert entry.effect
            assert entry.clause


@pytest.mark.parametrize("test", PTS.values(), ids=list(PTS))
def test_every_field_of_the_conditions_has_a_rule_or_a_reason_to_have_none(test) -> None:
    fields = fields_of(test.conditions)
    ruled = {rule.name for rule in (*test.rules, *RULES_OF_ALL)}
    assert [name for name, field in fields.items() if name not in ruled and not field.free] == []
    assert {rule.name for rule in test.rules} <= set(fields)


@pytest.mark.parametrize("test", PROCEDURES.values(), ids=list(PROCEDURES))
def test_the_value_that_the_help_names_is_that_of_the_specification(test) -> None:
    of_name = _options(test)
    unsaid = {f"parameter_{name}": None for name in parameters_of(test.conditions)}
    for parameter, standard in _each(test):
        shown = parameter.shown(standard)
        if not shown or shown in {"yes", "no"}:
            continue
        name = f"parameter_{parameter.name}"
        options = unsaid | {name: of_name[name].type_cast_value(None, shown)}
        assert conditions_of(overrides_from(test.conditions, options), standard) == standard, name


def _options(test: Procedure) -> dict[str, Any]:
    """By name."""

    def command() -> None:
        pass

    for option in parameter_options(test):
        option(command)
    return {option.name: option for option in command.__click_params__}  # type: ignore[attr-defined]

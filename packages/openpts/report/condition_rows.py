"""The conditions of a test, field by field, as rows of the set-up page: what PTS wants set and recorded."""

from collections.abc import Iterator

from openpts.fields.conditions import Conditions
from openpts.fields.field import Field, fields_of
from openpts.vocabulary.workload import condition_text


def condition_rows(conditions: Conditions) -> Iterator[tuple[str, str, str]]:
    """Name, label and value of each field, in the order of the conditions."""
    for name, field in fields_of(type(conditions)).items():
        value = getattr(conditions, name)
        if field.label and value is not None and name not in conditions.meaningless:
            yield name, field.label, _text(name, field, value)


def _text(name: str, field: Field, value: object) -> str:
    if field.is_rest and field.kind is not None:
        return field.kind.show(value)
    return value if isinstance(value, str) else condition_text(name, value)

"""The plan file: what to run and how, as TOML or YAML, for people and their editors."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from openpts.config_files.schema_errors import Path as ValuePath
from openpts.config_files.schema_errors import PlacedText
from openpts.config_files.toml_text import read_toml
from openpts.config_files.written_file import WrittenFileError, at, placed_text, read_written, shaped
from openpts.errors import UsageError
from openpts.fields.conditions import Conditions
from openpts.fields.field import Field, parameters_of
from openpts.fields.settings import RUN_SETTINGS, Setting
from openpts.parameters.overrides import Overrides, conditions_of, contradictions
from openpts.parameters.shipped_plans import SUFFIX, shipped_names, shipped_plan
from openpts.parameters.yaml_text import read_yaml
from openpts.procedures.registry import PROCEDURES, sound_tests
from openpts.schema_words import without_indentation
from openpts.vocabulary.drive_class import DriveClass

_READERS: Final[Mapping[str, Callable[[str], PlacedText]]] = {
    ".toml": read_toml,
    ".yaml": read_yaml,
    ".yml": read_yaml,
}
_AT: Final = re.compile(r":([0-9]+):([0-9]+): ")
_MOST_KIB: Final = 1024
_KEYS: Final = {"drive_class": "class"}
"""Settings that a file has under another name."""

_SETTINGS: Final = {
    "title": Setting("What the plan is for, in a line."),
    "tests": Setting(
        "What `openpts run all` runs, in this order; all tests of the specification.",
        Annotated[list[Literal[tuple(PROCEDURES)]], Meta(min_length=1)],  # type: ignore[misc]
    ),
    **RUN_SETTINGS,
}
"""What is beside the tables, by the names that the program has for it."""


@cache
def _common() -> dict[str, Field]:
    """What every test has, and what several tests have alike."""
    homes: dict[str, list[Field]] = {}
    for test in sound_tests():
        for name, parameter in parameters_of(test.conditions).items():
            homes.setdefault(name, []).append(parameter)
    usual = {name: Counter(one.kind for one in found).most_common(1)[0] for name, found in homes.items()}
    several = {
        name: next(one for one in homes[name] if one.kind is kind)
        for name, (kind, count) in usual.items()
        if count > 1
    }
    return {**several, **parameters_of(Conditions)}


def _table(
    name: str, words: str, parameters: Mapping[str, Field], description: str, purpose: str = ""
) -> tuple[str, Any, Any]:
    """A table of a plan, with a key for each parameter; what is not given is unset."""
    keys = [(one.name, one.type | UnsetType, UNSET) for one in parameters.values()]
    table = msgspec.defstruct(
        f"{words}Parameters",
        keys,
        namespace={"__doc__": " ".join(purpose.split("\n\n", maxsplit=1)[0].split()) or description},
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )
    return name, Annotated[table, Meta(description=description)] | UnsetType, UNSET


@cache
def _plan_file() -> type[Struct]:
    """The type of a plan: its settings, and a table for each test that can be loaded."""
    return msgspec.defstruct(
        "PlanFile",
        [
            *((name, one.key, field(default=UNSET, name=_KEYS.get(name))) for name, one in _SETTINGS.items()),
            _table(
                "common",
                "Common",
                _common(),
                "Parameters of all tests of the plan; one that not every test has applies to those that "
                "have it.",
            ),
            *(
                _table(
                    test.name,
                    test.conditions.__name__.removesuffix("Conditions"),
                    parameters_of(test.conditions),
                    f"{test.title} test ({test.source}).",
                    test.purpose,
                )
                for test in sound_tests()
                if test.name not in {"common", *_SETTINGS}
            ),
        ],
        namespace={"__doc__": "A plan of openpts: tests of SNIA PTS 2.0.1 on one device."},
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )


class Plan(Struct, frozen=True):
    """A plan that was read. ``raw`` is the file, ``settings`` what is beside the tables."""

    path: str
    raw: bytes
    file: Struct
    text: PlacedText

    @property
    def settings(self) -> dict[str, Any]:
        """What is beside the tables, as far as the file has it."""
        return {name: value for name in _SETTINGS if (value := getattr(self.file, name)) is not UNSET}

    def overrides(self, test: str) -> Overrides:
        """What the plan gives for a test: its own table over what it has of the common one."""
        known = parameters_of(PROCEDURES[test].conditions)
        alike = {
            name: known[name]
            for name, one in _common().items()
            if name in known and known[name].kind is one.kind
        }
        return self._in_table(test, known).over(self._in_table("common", alike))

    def _in_table(self, table: str, known: Mapping[str, Field]) -> Overrides:
        content = getattr(self.file, table, UNSET)
        if content is UNSET:
            return Overrides()
        folder = str(Path(self.path).parent)
        values = {
            name: value if (beside := known[name].value.beside) is None else beside(value, folder)
            for name in content.__struct_fields__
            if name in known and (value := getattr(content, name)) is not UNSET
        }
        return Overrides(values, {name: self._name((table, name)) for name in values})

    def _name(self, path: ValuePath) -> str:
        return f"{at(self.path, self.text.place_of(path))}: {path[-1]}"


def read_plan(path: Path) -> Plan:
    """Read a plan file, and look whether all in it makes sense, for any test that it has a table of.

    A path without an ending or a folder is the name of a plan that ships. Raises WrittenFileError with
    everything that is wrong.
    """
    if path.name == str(path) and not path.suffix:
        return parse_plan(shipped_plan(path.name), f"{path}{SUFFIX}", read_toml)
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise UsageError(f"{path}: the name of a plan file ends in .toml, .yaml or .yml")
    return parse_plan(read_written(path, _MOST_KIB, "plan"), str(path), read)


def at_full_length(test: str, standard: Conditions, raw: bytes | None) -> Conditions:
    """What lengths are judged by: the conditions of a plan that ships, if ``raw`` is one, or the standard.

    A plan that ships is a procedure that was published elsewhere: what it leaves out is not cut short.
    """
    name = next((name for name in shipped_names() if raw == shipped_plan(name)), None)
    if raw is None or name is None:
        return standard
    reference: Conditions = conditions_of(
        parse_plan(raw, f"{name}{SUFFIX}", read_toml).overrides(test), standard
    )
    return reference


def parse_plan(raw: bytes, path: str, read: Callable[[str], PlacedText]) -> Plan:
    """The plan that a text is; ``path`` is what complaints call it. Raises WrittenFileError."""
    text = placed_text(raw, path, read)
    plan = Plan(path, raw, shaped(text, _plan_file(), path), text)
    if complaints := _senseless(plan):
        raise WrittenFileError(complaints)
    return plan


def _senseless(plan: Plan) -> tuple[str, ...]:
    """Values that no condition can have, and what can't be together; each once, whatever test it is for.

    What is common can be contradictory for a test that the plan is not for: that shows if it is run.
    """
    tables = {test for test in PROCEDURES if getattr(plan.file, test, UNSET) is not UNSET}
    meant = tables | set(plan.settings.get("tests", ()))
    drive_class = DriveClass(plan.settings.get("drive_class", DriveClass.ENTERPRISE))
    found: dict[str, None] = {}
    for test in sound_tests():
        if all(getattr(plan.file, table, UNSET) is UNSET for table in (test.name, "common")):
            continue
        overrides, standard = plan.overrides(test.name), test.standard_conditions(drive_class, 0)
        bad = _refused(overrides, standard)
        if not bad and test.name in meant:
            bad = contradictions(overrides, conditions_of(overrides, standard))
        found |= dict.fromkeys(bad)
    return tuple(sorted(found, key=_in_order))


def _in_order(complaint: str) -> tuple[int, ...]:
    """Line and column of a complaint."""
    match = _AT.search(complaint)
    return (int(match[1]), int(match[2])) if match else ()


def _refused(overrides: Overrides, standard: Conditions) -> list[str]:
    """Each value on its own."""
    refused = []
    for name in parameters_of(type(standard)):
        if name in overrides.values:
            try:
                conditions_of(
                    Overrides({name: overrides.values[name]}, {name: overrides.names[name]}), standard
                )
            except UsageError as error:
                refused.append(str(error))
    return refused


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of plan files, for editors."""
    schema = without_indentation(msgspec.json.schema(_plan_file()))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "openpts plan", **schema}

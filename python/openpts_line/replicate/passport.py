"""What a run has shown and under which conditions: from its folder, its seal alone, or its JSON."""

from pathlib import Path
from typing import Any, Final, Self

import msgspec
from msgspec import Struct

from openpts.errors import RecordError, UsageError, failing_as
from openpts.escaped_text import visible_line
from openpts.procedures.registry import procedure_of
from openpts.record.decoding import decode_json, in_visible_lines
from openpts.record.manifest import Manifest, RunState, manifest_of
from openpts.record.reader import Run
from openpts.report.sources import read_for_report, run_folders_of
from openpts.report.summary import SCHEMA
from openpts.vocabulary.uncertainty import two_digits
from openpts_line.replicate.measured_conditions import measured_conditions
from openpts_line.seal.statement import FACTS, STATED, read_statement

_MOST_BYTES: Final = 50_000_000


class KeyValue(Struct, frozen=True):
    """A key value with its expanded uncertainty at 95 %, in ``unit``; None where none is known."""

    unit: str
    value: float | None
    expanded_uncertainty: float | None = None

    @property
    def text(self) -> str:
        """``189,954 ± 1,200``; a dash where one of both is missing."""
        if self.value is None or self.expanded_uncertainty is None:
            return "-"
        reach = two_digits(self.expanded_uncertainty)
        digits = f",.{len(reach.partition('.')[2])}f" if self.expanded_uncertainty else ",.6g"
        return f"{self.value:{digits}} ± {reach}"


class Passport(Struct, frozen=True, kw_only=True):
    """A run as another one is held against it. ``manifest`` is None where only its figures are known.

    One in a seal has the facts and conditions alone. ``measured`` are ``measured_conditions``.
    """

    name: str
    run_id: str
    test: str
    state: RunState
    key_values: dict[str, KeyValue]
    manifest: Manifest | None = None
    measured: dict[str, float] = {}

    @classmethod
    def of(cls, run: Run) -> Self:
        """The passport of a run whose record is there."""
        of = run.manifest
        test = of.conditions.test
        return cls(
            name=str(run.folder),
            run_id=of.test_id,
            test=test,
            state=of.state,
            key_values={
                one.key: KeyValue(one.unit, one.comparable, one.expanded_uncertainty)
                for one in procedure_of(test).report(run).measures
                if one.is_key
            },
            manifest=of,
            measured=measured_conditions(run),
        )

    @classmethod
    def read(cls, path: Path) -> Self:
        """The passport in a run folder, a `seal.json`, or a run's JSON. Raises RecordError, UsageError."""
        if path.is_dir():
            (folder,) = _one(path, run_folders_of([path]))
            return cls.of(read_for_report(folder))
        what = f"{path} is no passport: neither a run folder, nor its seal.json, nor the JSON of its report"
        with failing_as(RecordError, f"can't read {path}"), path.open("rb") as file:
            content = file.read(_MOST_BYTES)
        with failing_as(RecordError, what, of=(msgspec.MsgspecError, KeyError, TypeError, AttributeError)):
            if b'"urn:openpts:seal:1"' in content:
                runs = read_statement(content).predicate.runs
                return cls._stated(path, runs[_one(path, tuple(runs))[0]])
            return cls._printed(path, decode_json(content, dict[str, Any]))

    @classmethod
    def _stated(cls, path: Path, stated: dict[str, Any]) -> Self:
        """The passport in a seal."""
        facts: dict[str, Any] = {
            field: {key: {"value": value, "source": "seal"} for key, value in stated.get(part, {}).items()}
            for part, field in FACTS.items()
        }
        known = {name: stated[name] for name in STATED if name in stated}
        kind = manifest_of(stated["test"])
        empty = {"test_id": stated["run_id"], "command_line": (), "people": {}}
        manifest = in_visible_lines(msgspec.convert(facts | empty | known, kind), kind)
        return cls(
            name=str(path),
            run_id=manifest.test_id,
            test=manifest.conditions.test,
            state=manifest.state,
            key_values=in_visible_lines(stated["key_values"], dict[str, KeyValue]),
            manifest=manifest,
            measured=msgspec.convert(stated.get("measured_conditions", {}), dict[str, float]),
        )

    @classmethod
    def _printed(cls, path: Path, printed: dict[str, Any]) -> Self:
        """The passport in what ``--json`` prints of a run."""
        if printed["schema"] != SCHEMA:
            raise TypeError(f"{visible_line(str(printed['schema']))} is not {SCHEMA}")
        return cls(
            name=str(path),
            run_id=printed["test_id"],
            test=visible_line(printed["test"]),
            state=RunState(printed["state"]),
            key_values={
                visible_line(key): KeyValue(
                    one["unit"],
                    None if one["stands_in"] else one["value"],
                    (one["uncertainty"] or {}).get("expanded"),
                )
                for key, one in printed["measures"].items()
            },
        )


def _one(path: Path, runs: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(runs) != 1:
        raise UsageError(f"{path} has {len(runs)} runs: name the one to replicate")
    return runs

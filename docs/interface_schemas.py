"""Writes the schemas of what other programs read: `python -m docs.interface_schemas`."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from docs.schema_files import BATCH, EVENTS, OUTPUTS, PACKAGES, RUN, TABLES
from openpts.cli.plan import PlanList
from openpts.cli.printed_plan import PlanDocument, SuitePlanDocument
from openpts.record.batch import Batch
from openpts.report.run_part import RunFigures, RunsFigures
from openpts.runner.event_lines import EventLine
from openpts.schema_words import without_indentation
from openpts.vocabulary.document import Failure
from openpts_batch.chosen_drives import WrittenDrives
from openpts_batch.cli.batch import BatchDocument
from openpts_batch.cli.fleet import FleetHosts, FleetRuns
from openpts_batch.cli.fleet_fetch import FleetFetched
from openpts_batch.fleet.configuration import FleetFile
from openpts_check.answer import CheckDocument
from openpts_check.cli.endurance import EnduranceDocument
from openpts_compare.cli.self_test import SelfTest
from openpts_compare.cli.verify import VerifiedReport, VerifiedReports
from openpts_compare.compare.figures import ComparisonDocument
from openpts_compare.gate.documents import GateDocument, PowerDocument
from openpts_compare.limits.limits_file import LimitsFile
from openpts_drives.cli.devices import DeviceList
from openpts_drives.cli.idle_flush import IdleFlushDocument
from openpts_drives.cli.purge import Purged
from openpts_export.export import columns_of_tables
from openpts_fio.cli.crosscheck import CrosscheckDocument
from openpts_host.cli.doctor import Audit
from openpts_host.cli.installation import Installation
from openpts_io.io_document import IoDocument, IoSteps, IoTargets
from openpts_practice.rows.benchmarks.listing import BenchmarkList
from openpts_pts.conformance.requirements import ConformanceDocument, ConformanceRuns, GuideDocument
from openpts_sim.cli.sim import PresetList
from openpts_traces.capture.capture import CaptureCost
from openpts_traces.cli.capture import Captured
from openpts_traces.cli.trace_commands import TraceDocument
from openpts_watch.runs_here import RunList

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

OF_FILES: Final = {
    PACKAGES / package / "docs" / f"{name}.schema.json": (f"openpts {title}", shape)
    for package, name, title, shape in (
        ("openpts_batch", "drives", "list of drives", WrittenDrives),
        ("openpts_batch", "fleet", "fleet", FleetFile),
        ("openpts_compare", "limits", "limits", LimitsFile),
    )
}
"""What operators write in TOML, for editors; `openpts plan --schema` has that of plans."""

OF_COMMANDS: Final[dict[str, tuple[str | type[Any], ...]]] = {
    "attach": (RunList,),
    "capture": (Captured, CaptureCost),
    "check": (CheckDocument, EnduranceDocument),
    "compare": (ComparisonDocument,),
    "crosscheck": (CrosscheckDocument,),
    "devices": (DeviceList,),
    "doctor": (Audit, Installation, SelfTest),
    "fleet cancel": (FleetRuns,),
    "fleet fetch": (FleetFetched,),
    "fleet hosts": (FleetHosts,),
    "fleet list": (FleetRuns,),
    "fleet observe": (FleetRuns,),
    "fleet resume": (FleetRuns,),
    "fleet submit": (FleetRuns,),
    "gate": (GateDocument, PowerDocument),
    "idle-flush": (IdleFlushDocument,),
    "io": (IoDocument, IoSteps, IoTargets),
    "plan": (PlanList,),
    "plan TEST": (PlanDocument,),
    "plan all": (SuitePlanDocument,),
    "purge": (Purged,),
    "report": (RunFigures, RunsFigures),
    "resume": (RunFigures, BatchDocument),
    "run TEST": (RunFigures, BatchDocument, BenchmarkList),
    "run all": (BatchDocument,),
    "sim list": (PresetList,),
    "sim show": (PresetList,),
    "trace check": (TraceDocument,),
    "trace convert": (TraceDocument,),
    "verify": (VerifiedReport, VerifiedReports, ConformanceDocument, GuideDocument, ConformanceRuns),
}
"""What each command prints with --json; a name is that of a schema that is written by hand."""


def schemas() -> dict[Path, str]:
    """The text of each schema's file; that of tables has the columns of each, with their SQL types."""
    return {
        EVENTS: _text(_of_events()),
        BATCH: _text(_schema("openpts-batch 1.0", Batch)),
        RUN: _text(_schema("openpts.run/1", RunFigures)),
        OUTPUTS: _text(_of_outputs()),
        TABLES: _text({"title": "openpts-tables 1.0", "tables": columns_of_tables()}),
        **{path: _text(_schema(title, shape)) for path, (title, shape) in OF_FILES.items()},
    }


def _schema(title: str, of: Any) -> dict[str, Any]:
    return {"$schema": _DRAFT, "title": title, **msgspec.json.schema(of)}


def _of_events() -> dict[str, Any]:
    """Each line has ``at``; an event gets it when it is written."""
    schema = _schema("openpts-events 1.0", EventLine)
    for shape in schema["$defs"].values():
        if "at" in shape.get("properties", {}):
            shape["required"].insert(shape["required"].index("kind") + 1, "at")
    return schema


def _of_outputs() -> dict[str, Any]:
    """One schema for all that commands print; the key ``schema`` tells which of its definitions holds."""
    types = dict.fromkeys(one for of in OF_COMMANDS.values() for one in of if not isinstance(one, str))
    listed, definitions = msgspec.json.schema_components([*types, Failure], ref_template="#/$defs/{name}")
    return {"$schema": _DRAFT, "title": "openpts --json", "oneOf": list(listed), "$defs": definitions}


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(without_indentation(schema), indent=1) + "\n"


if __name__ == "__main__":
    for path, text in schemas().items():
        path.write_text(text, encoding="utf-8")

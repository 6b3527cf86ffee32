"""Writes the schemas of what other programs read: `python -m docs.interface_schemas`."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from openpts.cli.fleet import FleetHosts, FleetRuns
from openpts.cli.fleet_check import FleetFindings
from openpts.cli.fleet_fetch import FleetFetched
from openpts.exchange.arrow_files import columns_of_tables
from openpts.exchange.events import EventLine
from openpts.report.summary import RunFigures

_DOCS: Final = Path(__file__).parent
EVENTS: Final = _DOCS / "events.schema.json"
RUN: Final = _DOCS / "run.schema.json"
TABLES: Final = _DOCS / "tables.json"
FLEET_RUNS: Final = _DOCS / "fleet_runs.schema.json"
FLEET_HOSTS: Final = _DOCS / "fleet_hosts.schema.json"
FLEET_FETCHED: Final = _DOCS / "fleet_fetched.schema.json"
FLEET_CHECK: Final = _DOCS / "fleet_check.schema.json"


def schemas() -> dict[Path, str]:
    """The text of each schema's file; that of tables has the columns of each, with Arrow's names of types."""
    return {
        EVENTS: _text(_schema("openpts-events 1.0", EventLine)),
        RUN: _text(_schema("openpts.run/1", RunFigures)),
        FLEET_RUNS: _text(_schema("openpts-fleet-runs 1", FleetRuns)),
        FLEET_HOSTS: _text(_schema("openpts-fleet-hosts 1", FleetHosts)),
        FLEET_FETCHED: _text(_schema("openpts-fleet-fetched 1", FleetFetched)),
        FLEET_CHECK: _text(_schema("openpts-fleet-check 1", FleetFindings)),
        TABLES: _text({"title": "openpts-tables 1.0", "tables": columns_of_tables()}),
    }


def _schema(title: str, of: Any) -> dict[str, Any]:
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return {**draft, **msgspec.json.schema(of)}


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=1) + "\n"


if __name__ == "__main__":
    for path, text in schemas().items():
        path.write_text(text, encoding="utf-8")

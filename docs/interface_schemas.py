"""Writes the schemas of what other programs read: `python -m docs.interface_schemas`."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from openpts.campaign.status import CampaignStatus
from openpts.exchange.arrow_files import columns_of_tables
from openpts.exchange.events import EventLine
from openpts.record.lot import Lot
from openpts.report.population.figures import PopulationFigures
from openpts.report.summary import RunFigures

_DOCS: Final = Path(__file__).parent
CAMPAIGN: Final = _DOCS / "campaign.schema.json"
EVENTS: Final = _DOCS / "events.schema.json"
LOT: Final = _DOCS / "lot.schema.json"
POPULATION: Final = _DOCS / "population.schema.json"
RUN: Final = _DOCS / "run.schema.json"
TABLES: Final = _DOCS / "tables.json"


def schemas() -> dict[Path, str]:
    """The text of each schema's file; that of tables has the columns of each, with Arrow's names of types."""
    return {
        EVENTS: _text(_schema("openpts-events 1.1", EventLine)),
        LOT: _text(_schema("openpts-lot 1.0", Lot)),
        CAMPAIGN: _text(_schema("openpts.campaign/1", CampaignStatus)),
        POPULATION: _text(_schema("openpts.population/1", PopulationFigures)),
        RUN: _text(_schema("openpts.run/1", RunFigures)),
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

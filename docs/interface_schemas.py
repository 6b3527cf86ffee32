"""Writes the schemas of what other programs read: `python -m docs.interface_schemas`."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from openpts.exchange.arrow_files import columns_of_tables
from openpts.exchange.events import EventLine

EVENTS: Final = Path(__file__).with_name("events.schema.json")

TABLES: Final = Path(__file__).with_name("tables.json")


def events_schema() -> dict[str, Any]:
    """JSON Schema of one line of `--events`."""
    found = msgspec.json.schema(EventLine)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "openpts-events 1.0", **found}


def tables_schema() -> dict[str, Any]:
    """The columns of each file of `export --parquet`, with Arrow's names of their types."""
    return {"title": "openpts-tables 1.0", "tables": columns_of_tables()}


def text(schema: dict[str, Any]) -> str:
    """As it is in its file."""
    return json.dumps(schema, indent=1) + "\n"


if __name__ == "__main__":
    EVENTS.write_text(text(events_schema()), encoding="utf-8")
    TABLES.write_text(text(tables_schema()), encoding="utf-8")

"""Where the schemas of what other programs read are."""

from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parent
EVENTS: Final = DOCS / "events.schema.json"
BATCH: Final = DOCS / "batch.schema.json"
RUN: Final = DOCS / "run.schema.json"
OUTPUTS: Final = DOCS / "outputs.schema.json"
TABLES: Final = DOCS / "tables.json"

"""Where the schemas of what other programs read are."""

from pathlib import Path
from typing import Final

PACKAGES: Final = Path(__file__).parents[1] / "packages"
EVENTS: Final = PACKAGES / "openpts" / "docs" / "events.schema.json"
RUN: Final = PACKAGES / "openpts" / "docs" / "run.schema.json"
PLAN: Final = PACKAGES / "openpts" / "docs" / "plan.schema.json"
BATCH: Final = PACKAGES / "openpts_batch" / "docs" / "batch.schema.json"
TABLES: Final = PACKAGES / "openpts_export" / "docs" / "tables.json"
OUTPUTS: Final = Path(__file__).with_name("outputs.schema.json")

"""A run made of another program's results in a report: its line of the cover, its table."""

from openpts.record.manifest import Manifest
from openpts_pages.facts_table import sourced_table
from openpts_pages.model import Table

_NOTE = "Nothing in this run was measured by openpts. What the source does not state is n/a."


def import_items(manifest: Manifest) -> list[tuple[str, str]]:
    """The row of the cover; none for a run that openpts measured."""
    imported = manifest.imported
    return [] if imported is None else [("Imported", f"{imported.file}, {imported.form} of {imported.tool}")]


def import_tables(manifest: Manifest) -> tuple[Table, ...]:
    """The table of the set-up page; none for a run that openpts measured."""
    imported = manifest.imported
    if imported is None:
        return ()
    return (
        sourced_table(
            "setup-imported",
            "Imported results",
            [
                ("Program", imported.tool, imported.file),
                ("Form", imported.form, imported.file),
                ("SHA-256 of the file", imported.sha256, f"input/{imported.kept_as} in the run folder"),
                *(("Not stated", text, imported.file) for text in imported.missing),
                *((name, text, "as the file states it") for name, text in imported.stated),
            ],
            note=_NOTE,
        ),
    )

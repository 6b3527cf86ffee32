"""What a page holds, block by block, and runs whose record holds the settings of a host."""

from typing import Final

from msgspec.structs import replace

from openpts.record.reader import Run
from openpts.vocabulary.facts import Fact, Facts
from openpts_pages.model import Page, Row, Table, Verdict

NO_SETTINGS: Final = "Host Set-up Audit: not reported (the record has no settings of the host)."
SIMULATED: Final = (
    "Host Set-up Audit: n/a (the drive is simulated: the host's set-up does not affect its figures)."
)


def tables(page: Page) -> dict[str, Table]:
    return {block.id: block for block in page.blocks if isinstance(block, Table)}


def verdicts(page: Page) -> list[str]:
    return [block.text for block in page.blocks if isinstance(block, Verdict)]


def rows(table: Table) -> dict[str, Row]:
    return {row.head.text: row for row in table.rows}


def texts(row: Row) -> list[str]:
    return [cell.text for cell in row.cells]


def with_host(run: Run, before: dict[str, str], after: dict[str, str] | None = None) -> Run:
    def facts(values: dict[str, str]) -> Facts:
        return {key: Fact(value, "a file") for key, value in values.items()}

    manifest = replace(run.manifest, host_before=facts(before), host_after=facts(after or {}))
    return replace(run, manifest=manifest)

"""`openpts logs`: which log pages a drive has, and one of them field by field."""

from typing import Any

import click
from msgspec import Struct

from openpts.cli.console import table_console, table_of
from openpts.cli.options import argument, flag, with_options
from openpts.cli.printed_document import print_document
from openpts.errors import TargetError
from openpts.vocabulary.document import Document


class LogState(Struct, frozen=True, kw_only=True):
    """One page: ``version`` is null where it has none or can't be read, for the reason ``refused``.

    ``uuid_index`` is how it was asked for; 0: no particular vendor.
    """

    name: str
    page: str
    title: str
    uuid_index: int
    version: int | None
    refused: str | None


class LogsDocument(Document, frozen=True, kw_only=True, tag="openpts.logs/1"):
    """Log pages that a drive should have, by what it reports of itself."""

    target: str
    logs: tuple[LogState, ...]


class LogDocument(Document, frozen=True, kw_only=True, tag="openpts.log/1"):
    """One log page: values by name with its unit; ``impossible`` has the reason for what can't be."""

    target: str
    log: LogState
    values: dict[str, Any]
    impossible: dict[str, str]


@click.command(short_help="List and read the log pages of an NVMe drive.")
@with_options
def logs(
    *,
    target: str = argument("TARGET"),
    name: str | None = argument("[LOG]", required=False),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> None:
    """List the log pages of an NVMe drive, or print the fields of one.

    TARGET is the drive; or a file that has a page as the drive gave it, with LOG. LOG is a page's name or
    its number, such as C0h. The drive is asked as root; nothing on it changes.
    """
    from openpts_nvme.logs import asked  # noqa: PLC0415 help needs nothing that runs

    found = asked.pages_of(target, None if name is None else asked.named(name))
    if name is None:
        _list(target, found, as_json=as_json)
    else:
        _show(target, found[0], as_json=as_json)


def _list(target: str, found: Any, *, as_json: bool) -> None:
    states = tuple(map(_state, found))
    if as_json:
        print_document(LogsDocument(target=target, logs=states))
        return
    table = table_of("LOG", "PAGE", ">VERSION", ">UUID INDEX", "STATE")
    for one in states:
        version = "n/a" if one.version is None else str(one.version)
        table.add_row(one.name, one.page, version, str(one.uuid_index), one.refused or one.title)
    table_console().print(table)


def _state(read: Any) -> LogState:
    has_version = read.page is not None and read.log.version_at is not None
    return LogState(
        name=read.log.name,
        page=f"{read.log.id:02X}h",
        title=read.log.title,
        uuid_index=read.uuid_index,
        version=read.page.version if has_version else None,
        refused=read.refused or None,
    )


def _show(target: str, read: Any, *, as_json: bool) -> None:
    from openpts_nvme.logs.words import lines_of  # noqa: PLC0415 help needs nothing that runs

    if read.page is None:
        raise TargetError(f"can't read {read.log.title} of {target}: {read.refused}")
    if as_json:
        document = LogDocument(
            target=target, log=_state(read), values=read.page.values, impossible=read.page.impossible
        )
        print_document(document)
        return
    table = table_of("FIELD", "VALUE")
    for name, text in lines_of(read.page):
        table.add_row(name, text)
    table_console().print(table)
    if read.page.is_newer:
        known = read.log.versions[1]
        text = f"version {read.page.version} is newer than {known}, the last that openpts knows"
        click.echo(f"openpts: {text}: fields may be missing", err=True)

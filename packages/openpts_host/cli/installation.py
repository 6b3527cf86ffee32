"""`openpts doctor --self`: what openpts is made of, and how what is missing is installed."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from openpts.cli.console import table_console
from openpts.cli.printed_document import print_document
from openpts.errors import EngineUnavailableError, OpenptsError, UsageError
from openpts.system_files import SystemRoots, printable
from openpts.vocabulary.document import Document
from openpts_host.installed import INSTALLERS, IO_URING, Part, parts

_MISSING: Final = "bold red"
_PIPE_COLUMNS: Final = 120


class Installation(Document, frozen=True, kw_only=True, tag="openpts.installation/1"):
    """The parts of openpts, and the programs that it may start."""

    parts: tuple[Part, ...]


def show_installation(*, is_all: bool, as_json: bool) -> None:
    """Print what openpts is made of.

    Raises UsageError if more was asked for, OpenptsError where something needed is missing.
    """
    if not is_all:
        raise UsageError("--self looks at openpts alone: leave out TARGET, --apply and --restore")
    found = parts(SystemRoots())
    failure = failure_of(found)
    if as_json:
        print_document(Installation(parts=found), failure)
    else:
        console = table_console(pipe_columns=_PIPE_COLUMNS)
        for line in installation_text(found):
            console.print(line, soft_wrap=True)
    if failure is not None:
        raise failure


def failure_of(found: Sequence[Part]) -> OpenptsError | None:
    """What the command ends with: an error where something needed is missing."""
    missing = [part for part in found if part.found is None and part.is_needed]
    if not missing:
        return None
    text = f"needed and missing: {', '.join(part.name for part in missing)}"
    return (
        EngineUnavailableError(text) if [part.name for part in missing] == [IO_URING] else OpenptsError(text)
    )


def installation_text(found: Sequence[Part]) -> Iterator[Text]:
    """What is missing, with its purpose and what installs it; what is there, a line each."""
    missing = [part for part in found if part.found is None]
    for heading, style, needed in (("NEEDED, AND MISSING", _MISSING, True), ("MISSING", "yellow", False)):
        of_these = [part for part in missing if part.is_needed is needed]
        if of_these:
            yield Text(heading, style=style)
            for part in of_these:
                yield Text(
                    f"  {part.name}, for {part.purpose}{f': {printable(part.why)}' if part.why else ''}"
                )
            yield from _commands(of_these)
            yield Text()
    yield Text("THERE", style="green")
    there = (f"  {part.name}: {printable(part.found)}" for part in found if part.found is not None)
    yield from map(Text, dict.fromkeys(there))


def _commands(found: Sequence[Part]) -> Iterator[Text]:
    """The lines that install all of these: one for each distribution, and those that are the same on any."""
    yield from (
        Text(f"    {line}")
        for line in dict.fromkeys(part.install["any"] for part in found if "any" in part.install)
    )
    for distribution, command in INSTALLERS.items():
        lines = [part.install[distribution] for part in found if distribution in part.install]
        names = dict.fromkeys(line.removeprefix(f"{command} ") for line in lines)
        if names:
            yield Text(f"    {distribution + ':':8}{command} {' '.join(names)}")

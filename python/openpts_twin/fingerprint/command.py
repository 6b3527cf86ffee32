"""`openpts fingerprint`: whether drives have the same parts, by runs of the test of that name."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from openpts.cli.options import PATH, argument, flag, option, with_options
from openpts.cli.printed_document import print_document
from openpts.cli.terminal import wrapped
from openpts.errors import LimitError, UsageError

if TYPE_CHECKING:
    from openpts.record.reader import Run
    from openpts_twin.fingerprint.features import Comparison, Difference

_AGAINST: Final = "--against"
_MOST_SHOWN: Final = 5


class _WithAgainst(click.Command):
    """All words behind --against are runs of the other side, up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the option in front of each of them, as click has it."""
        spread: list[str] = []
        is_against = False
        for word in args:
            is_against = word == _AGAINST if word.startswith("-") else is_against
            if word != _AGAINST:
                spread += [_AGAINST, word] if is_against else [word]
        return super().parse_args(ctx, spread)


@click.command("fingerprint", cls=_WithAgainst, short_help="Tell whether drives have the same parts inside.")
@with_options
def fingerprint(
    *,
    runs: tuple[Path, ...] = argument("RUN...", PATH, nargs=-1, required=True),
    against: tuple[Path, ...] = option(
        f"{_AGAINST} RUN...",
        "Runs of what the drive was, or of a sample known to be good; all words up to the next option.",
        PATH,
        multiple=True,
        required=True,
    ),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> int:
    """Tell whether drives have the same parts inside, by runs of `openpts run fingerprint`.

    RUN and --against name run folders: of the drive now and of what it was, of a delivery and of the sample
    that was released. More runs of a side tell how much its figures vary.

    Ends with exit code 10 if the parts differ.
    """
    from openpts.api import read_runs  # noqa: PLC0415 help needs nothing that reads runs
    from openpts.report.sources import run_folders_of  # noqa: PLC0415 likewise
    from openpts_twin.fingerprint.features import compared, fingerprint_of  # noqa: PLC0415 likewise

    run_folders_of([*runs, *against])  # refuses a run that is named twice
    own, others = (list(read_runs(*side)) for side in (runs, against))
    prints = [[fingerprint_of(run) for run in side] for side in (own, others)]
    _refuse_other_conditions([*others, *own])
    found = compared(*prints)
    if as_json:
        print_document(found)
    else:
        for line in _lines(found):
            click.echo(wrapped(line, sys.stdout))
    return 0 if found.same else LimitError.exit_code


def _refuse_other_conditions(found: "list[Run]") -> None:
    """Raises UsageError: figures of another range or of other data tell nothing of a drive's parts."""
    from openpts.runs.measured_run import conditions_key  # noqa: PLC0415 help needs nothing that reads runs

    first, *others = found
    for one in others:
        if conditions_key(one) != conditions_key(first):
            raise UsageError(
                f"{one.folder} was made under other conditions than {first.folder}: run the test again with "
                "the same options"
            )


def _lines(found: "Comparison") -> Iterator[str]:
    """The answer, and what differs most."""
    first, *others = found.differences
    if found.same:
        compared = f"of {len(found.differences)} figures {_words(first)} is farthest off"
        yield f"Same parts: {compared}, and {found.farthest_alike:g} are allowed."
        return
    yield f"Other parts: {_words(first)}."
    for one in others[:_MOST_SHOWN]:
        if one.distance > found.farthest_alike:
            yield f"  also {_words(one)}"


def _words(one: "Difference") -> str:
    return f"{one.name} {100 * (one.ratio - 1):+.1f} %, {one.distance:.1f} standard deviations"

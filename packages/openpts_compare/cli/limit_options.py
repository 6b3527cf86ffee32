"""The options that hold a run against limits."""

from pathlib import Path
from typing import Final

import click

from openpts.cli.commands_on_demand import Decorator
from openpts.cli.options import baseline_option, flag
from openpts.fields.conditions import Conditions
from openpts.fields.field import parameters_of

_FILE: Final = "--limits-file"


def limit_options(conditions: type[Conditions] | None = None) -> tuple[Decorator, ...]:
    """The options of limits, for a command whose test may have limits of its own, which it looks for."""
    is_taken = conditions is not None and "limits" in parameters_of(conditions)
    names = (_FILE,) if is_taken else ("--limits", _FILE)
    limits_file = click.option(
        *names,
        "limits_path",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Judge the finished run by the limits in this TOML file: exit code 10 if one failed, 13 if one "
        "has no verdict. See `openpts gate`.",
    )
    return (limits_file, *_OTHER_OPTIONS)


_OTHER_OPTIONS: Final = (
    baseline_option("Finished runs, or suites, that relative limits such as '>= -3 %' are held against"),
    flag("With a limits file, end the run as soon as a limit can't be kept.", name="--stop-on-fail"),
    flag("End with exit code 14 if steady state was not reached.", name="--require-steady"),
)

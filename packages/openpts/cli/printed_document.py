"""What programs read, on standard output: one JSON object for a command."""

import json
from collections.abc import Mapping
from typing import IO, Any

import click
import msgspec

from openpts.errors import OpenptsError
from openpts.vocabulary.document import Document


def print_document(
    document: Document,
    failure: OpenptsError | None = None,
    *,
    stream: IO[str] | None = None,
    indent: int | None = 2,
) -> None:
    """Print a document, with the error that the command ends with."""
    print_object(msgspec.to_builtins(document), failure, stream=stream, indent=indent)


def print_object(
    figures: Mapping[str, Any],
    failure: OpenptsError | None = None,
    *,
    stream: IO[str] | None = None,
    indent: int | None = 2,
) -> None:
    """The same for what is an object already; in ASCII, as names of files may be no UTF-8."""
    if failure is not None:
        figures = {**figures, "error": "; ".join(failure.complaints), "exit_code": failure.exit_code}
        failure.is_printed = True
    click.echo(json.dumps(figures, indent=indent), file=stream)

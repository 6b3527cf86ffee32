"""`openpts seal`: what is in a run folder, signed by who made it."""

import os
from pathlib import Path

import click

from openpts.cli.options import FOLDER, PATH, argument, option, with_options
from openpts.cli.verify import verified_reports
from openpts.errors import RecordError, failing_as


@click.command("seal")
@with_options
def seal(
    *,
    run: Path = argument("RUN", FOLDER),
    key: Path | None = option(
        "FILE",
        "Sign with this ssh key; a public one if an agent has the other half. [default: the key by which git "
        "signs, or the first in ~/.ssh]",
        PATH,
    ),
) -> None:
    """Sign what is in a run folder with your ssh key.

    RUN is the folder of a run, a suite or a batch with its reports, which are verified first. Its seal states
    the checksum of each file, the conditions and the key values (seal.json, seal.json.sig). `openpts verify
    RUN --signers FILE` says who sealed it and that nothing was changed or added since.
    """
    from openpts.record.writer import SEAL_NAMES  # noqa: PLC0415 slow to load
    from openpts.run_folder_files import write_files  # noqa: PLC0415 slow to load
    from openpts_line.seal.signature import entry_of, signed, usual_key  # noqa: PLC0415 slow to load
    from openpts_line.seal.statement import stated  # noqa: PLC0415 slow to load

    if there := [name for name in SEAL_NAMES if os.path.lexists(run / name)]:
        raise RecordError(f"{run} has a seal already: remove {' and '.join(there)} to seal it again")
    _, failure = verified_reports(run, (), as_json=True)
    if failure is not None:
        raise RecordError(f"{run} was not sealed: {failure}")
    content = stated(run)
    signature = signed(content, str(key) if key else usual_key())
    with failing_as(RecordError, f"can't write the seal of {run}"):
        write_files(run, dict(zip(SEAL_NAMES, (content, signature), strict=True)))
    click.echo(f"seal: {run / SEAL_NAMES[0]}")
    click.echo(f"Next: openpts verify {run} --signers FILE, where FILE has a line for you:")
    click.echo(f"  YOU@LAB {entry_of(signature)}")

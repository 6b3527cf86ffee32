"""`openpts resume`: continue with a run, a suite or a batch that was cut off."""

from pathlib import Path
from typing import Any

import click

from openpts.cli.commands_on_demand import together
from openpts.cli.consent_options import (
    ACCEPT_OPTIONS,
    CONFIRM_NAMESPACE,
    CONSENT_OPTIONS_OF_SEVERAL,
    consent_of,
    popped,
)
from openpts.cli.live_outputs import OUTPUT_OPTIONS, log_stream
from openpts.cli.options import option
from openpts.cli.several import several
from openpts.errors import RecordError, UsageError


@click.command("resume", short_help="Continue a run, a suite or a batch that was cut off.")
@click.argument("folder", type=click.Path(path_type=Path))
@together(
    option(
        "--target TARGET",
        "Name the drive, if its name has changed. Serial number, model, firmware and capacity must be "
        "those of the record.",
    ),
    ACCEPT_OPTIONS,
    *CONSENT_OPTIONS_OF_SEVERAL,
    CONFIRM_NAMESPACE,
    OUTPUT_OPTIONS,
)
def resume(folder: Path, *, target: str | None, no_report: bool, as_json: bool, **accepted: Any) -> None:
    """Continue the run, the suite or the batch in FOLDER. DESTROYS ALL DATA on the target, as the run did.

    Conditions, seed and target are those of the record. The specification allows no interruption after a
    purge: a test that was cut off begins again with this purge. With --accept-interruption it continues with
    the round that was cut off, which is a deviation. `lifetime` always does so. A run on a simulated drive
    continues exactly where it was. The report shows all attempts. Of a run that is complete, report and
    verdict are made again.
    """
    from openpts.ownership import CLAIM_NAME, is_locked  # noqa: PLC0415 help needs nothing that runs
    from openpts.record.batch import is_batch, read_batch  # noqa: PLC0415 likewise
    from openpts.record.reader import has_begun  # noqa: PLC0415 likewise
    from openpts.record.writer import is_beginning  # noqa: PLC0415 likewise

    consent, stream = popped(accepted), log_stream(as_json=as_json)
    ends = {"no_report": no_report, "as_json": as_json}
    if is_batch(folder) and read_batch(folder).suite is None:
        if target is not None:
            raise UsageError("--target names one drive: those of a batch are found by their serial numbers")
        several().part("resume")(folder, consent, accepted, stream, **ends)
        return
    agreed = consent_of(consent)
    if is_batch(folder):
        several().part("resume_suite")(folder, target, agreed, accepted, stream, **ends)
        return
    if is_beginning(folder) and not has_begun(folder) and not is_locked(folder / CLAIM_NAME):
        raise RecordError(
            f"can't resume {folder}: it was cut off before its record began, and nothing was done to a "
            "drive. Remove the folder, and start again with the command that made it"
        )
    from openpts.cli.run_settings import end_run, run_and_log  # noqa: PLC0415 likewise
    from openpts.procedures.registry import procedure_of  # noqa: PLC0415 likewise
    from openpts.record.manifest import RunState  # noqa: PLC0415 likewise
    from openpts.record.reader import stored_run  # noqa: PLC0415 likewise
    from openpts.runner.resumed_run import Resumption  # noqa: PLC0415 likewise
    from openpts.runner.settings import RunSettings  # noqa: PLC0415 likewise

    run = stored_run(folder)
    test = procedure_of(run.manifest.conditions.test)
    if run.manifest.state is RunState.COMPLETE:  # a kill may have come before its report or its verdict
        click.echo(f"{folder} is complete: no step is left to measure", file=stream)
    else:
        run_and_log(test, RunSettings.to_resume(Resumption(run, **accepted), agreed, target), stream)
    end_run(test, folder, stream, **ends)

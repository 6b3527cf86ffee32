"""`openpts run`: carry out a test on a target."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from openpts.cli.consent_options import CONSENT_OPTIONS
from openpts.cli.io_engine import NUMA, EngineWords
from openpts.cli.live_display import LiveDisplay
from openpts.cli.option_group import together
from openpts.cli.plain_log import PlainLog
from openpts.cli.report import print_result
from openpts.cli.shortening import Shortening, conditions_options, quick_on_simulated
from openpts.device.consent import Consent
from openpts.device.simulated_target import names_simulated, parse_simulated_target
from openpts.engine.options import IoPath
from openpts.errors import InterruptedRunError, OpenptsError, RunFailedError
from openpts.record.manifest import People
from openpts.record.reader import read_run
from openpts.report.write import write_report
from openpts.runner.events import Event, Listener, RunStarted
from openpts.runner.preparation import PurgeChoice
from openpts.runner.run import Order, run_iops
from openpts.vocabulary.conditions import Profile


@click.group()
def run() -> None:
    """Run a test. DESTROYS ALL DATA on the target."""


_safety_options = together(
    *CONSENT_OPTIONS,
    click.option(
        "--purge",
        type=click.Choice([choice.value for choice in PurgeChoice]),
        default=PurgeChoice.AUTO.value,
        show_default=True,
        help="Purge before the test; `none` is entered in the ledger.",
    ),
)

_engine_options = together(
    click.option(
        "--io-path",
        type=click.Choice([path.value for path in IoPath if path is not IoPath.NOOP]),
        help="How I/O reaches the target; without it, a probe finds out what suits.",
    ),
    click.option(
        "--cpus",
        default=NUMA,
        show_default=True,
        help="Pin the threads to these processors, in turn: a list such as 0-3,8, numa or none.",
    ),
)

_record_options = together(
    click.option("--out", type=click.Path(path_type=Path), help="Run folder; must not hold anything yet."),
    click.option("--operator", help="Test operator, for the report."),
    click.option("--auditor", help="Auditor, for the report."),
    click.option("--sponsor", help="Test sponsor, for the report."),
    click.option("--no-report", is_flag=True, help="Measure only; `openpts report` can follow."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object; the log goes to stderr."),
)


@run.command()
@click.argument("target")
@conditions_options
@_safety_options
@_engine_options
@_record_options
def iops(
    target: str,
    as_json: bool,
    no_report: bool,
    **options: Any,
) -> None:
    """IOPS test (PTS section 7): random I/O, 7 R/W mixes x 8 block sizes, in steady state.

    TARGET is a drive such as /dev/nvme0n1, or file:PATH?size=SIZE for a scratch file, which is created, or a
    simulated drive: sim:PRESET, with ?capacity=SIZE&scale=N&seed=N where its own shall not do. PRESET is the
    name of one that ships or the path of a TOML file.
    At full length the test writes the user capacity twice and then runs rounds of 56 minutes until
    performance is steady, 25 at most. Whatever is shortened is listed in the report.
    """
    order = _order(target, **options)
    folder = _run_and_log(order, sys.stderr if as_json else sys.stdout)
    print_result(folder, [] if no_report else write_report(folder), as_json=as_json)


def _order(
    target: str,
    *,
    profile: str,
    purge: str,
    confirm_serial: str | None,
    confirm_device_path: str | None,
    erase_signatures: bool,
    overwrite_file: bool,
    operator: str | None,
    auditor: str | None,
    sponsor: str | None,
    out: Path | None,
    seed: int | None,
    io_path: str | None,
    cpus: str,
    **shortening: Any,
) -> Order:
    shorten = Shortening(**shortening)
    engine = EngineWords(io_path=io_path, cpus=cpus)
    return Order(
        target=target,
        profile=Profile(profile),
        adjust=(
            quick_on_simulated(shorten, parse_simulated_target(target))
            if shorten.leaves_step_to_quick and names_simulated(target)
            else shorten
        ),
        consent=Consent(
            confirm_serial=confirm_serial,
            confirm_device_path=confirm_device_path,
            overwrite_file=overwrite_file,
            erase_signatures=erase_signatures,
        ),
        purge_choice=PurgeChoice(purge),
        people=People(operator, auditor, sponsor),
        command_line=tuple(sys.argv[1:]),
        folder=out,
        seed=seed,
        options=engine.options(),
        pin_to_node=engine.pin_to_node,
    )


def _run_and_log(order: Order, stream: IO[str]) -> Path:
    """Run with the display that suits the stream; an error that leaves a run folder tells where it is."""
    folders: list[Path] = []

    def note_folder(event: Event) -> None:
        if isinstance(event, RunStarted):
            folders.append(event.folder)

    try:
        with display_on(stream) as hear:
            return run_iops(order, [note_folder, hear]).folder
    except (InterruptedRunError, RunFailedError) as error:
        raise type(error)(f"{error}; {_what_is_kept(folders)}") from error
    except OpenptsError as error:
        if folders:
            raise type(error)(f"{error}; the run folder {folders[0]} tells how far it came") from error
        raise


@contextmanager
def display_on(stream: IO[str]) -> Iterator[Listener]:
    """A live panel on a terminal, a plain log anywhere else."""
    if stream.isatty():
        with LiveDisplay(stream) as display:
            yield display.hear
    else:
        yield PlainLog(lambda line: click.echo(line, file=stream)).hear


def _what_is_kept(folders: Sequence[Path]) -> str:
    if not folders:
        return "nothing was written yet"
    steps = len(read_run(folders[0]).steps)
    return f"{steps} steps are kept in {folders[0]}: `openpts report {folders[0]}` reports on them"

"""`openpts run`: carry out a test on a target."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import click

from openpts.cli.consent_options import CONSENT_OPTIONS
from openpts.cli.finite import FiniteRange
from openpts.cli.io_engine import NUMA, EngineWords
from openpts.cli.live_display import LiveDisplay
from openpts.cli.option_group import together
from openpts.cli.plain_log import PlainLog
from openpts.cli.report import print_result
from openpts.device.consent import Consent
from openpts.engine.options import IoPath
from openpts.errors import InterruptedRunError, OpenptsError, RunFailedError, UsageError
from openpts.record.manifest import People
from openpts.record.reader import read_run
from openpts.report.write import write_report
from openpts.runner.events import Event, Listener, RunStarted
from openpts.runner.preparation import PurgeChoice
from openpts.runner.run import Order, run_iops
from openpts.units import NS_PER_S
from openpts.vocabulary.conditions import Profile, TestConditions
from openpts.vocabulary.stimulus import ActiveRange

# --quick: a round in under half a minute and at most seven of them, after one pass over the target.
QUICK_STEP_S = 0.4
QUICK_MAX_ROUNDS = 7
QUICK_PASSES = 1.0


@dataclass(frozen=True, slots=True)
class Shortening:
    """What the operator changes of the standard conditions; None keeps the specification's value."""

    quick: bool
    round_seconds: float | None
    step_seconds: float | None
    max_rounds: int | None
    precondition_passes: float | None
    tc: int | None
    qd: int | None
    active_range_pct: float | None

    def __call__(self, conditions: TestConditions) -> TestConditions:
        """The conditions of this run."""
        elements = len(conditions.read_pcts) * len(conditions.block_sizes_bytes)
        step_s = self.step_seconds
        if self.round_seconds is not None:
            step_s = self.round_seconds / elements
        changes: dict[str, Any] = {
            "step_duration_ns": None if step_s is None else max(1, round(step_s * NS_PER_S)),
            "max_rounds": self.max_rounds,
            "precondition_passes": self.precondition_passes,
            "tc": self.tc,
            "qd": self.qd,
            "active_range": None if self.active_range_pct is None else ActiveRange(0, self.active_range_pct),
        }
        if self.quick:
            conditions = replace(
                conditions,
                step_duration_ns=round(QUICK_STEP_S * NS_PER_S),
                max_rounds=QUICK_MAX_ROUNDS,
                precondition_passes=QUICK_PASSES,
            )
        return replace(conditions, **{name: value for name, value in changes.items() if value is not None})


@click.group()
def run() -> None:
    """Run a test. DESTROYS ALL DATA on the target."""


_conditions_options = together(
    click.option(
        "--profile",
        type=click.Choice([profile.value for profile in Profile]),
        default=Profile.ENTERPRISE.value,
        show_default=True,
        help="PTS-E (AR 100 %, cache off, TC 4 QD 32) or PTS-C (AR 75 %, cache on, TC 2 QD 16).",
    ),
    click.option("--quick", is_flag=True, help="Shorten everything for a first look: about 2 to 3 minutes."),
    click.option(
        "--round-seconds",
        type=FiniteRange(min=0, min_open=True),
        help="Length of one round of 56 elements; the specification has 3360 s.",
    ),
    click.option(
        "--step-seconds",
        type=FiniteRange(min=0, min_open=True),
        help="Length of one element of a round; the specification has 60 s.",
    ),
    click.option("--max-rounds", type=click.IntRange(min=1), help="Give up after this many rounds; 25."),
    click.option(
        "--precondition-passes",
        type=FiniteRange(min=0),
        help="Times user capacity written before the rounds; 2.",
    ),
    click.option("--tc", type=click.IntRange(1, 1024), help="Thread count."),
    click.option("--qd", type=click.IntRange(1, 4096), help="Queue depth of each thread."),
    click.option(
        "--active-range",
        "active_range_pct",
        type=FiniteRange(0, 100, min_open=True),
        help="Per cent of the LBAs to use, from the first on.",
    ),
    click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of offsets and data; random."),
)

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
@_conditions_options
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

    TARGET is a drive such as /dev/nvme0n1, or file:PATH?size=SIZE for a scratch file, which is created.
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
    if shortening["round_seconds"] is not None and shortening["step_seconds"] is not None:
        raise UsageError("--round-seconds and --step-seconds say the same thing twice: give one of them")
    engine = EngineWords(io_path=io_path, cpus=cpus)
    return Order(
        target=target,
        profile=Profile(profile),
        adjust=Shortening(**shortening),
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
        with _display(stream) as hear:
            return run_iops(order, [note_folder, hear]).folder
    except (InterruptedRunError, RunFailedError) as error:
        raise type(error)(f"{error}; {_what_is_kept(folders)}") from error
    except OpenptsError as error:
        if folders:
            raise type(error)(f"{error}; the run folder {folders[0]} tells how far it came") from error
        raise


@contextmanager
def _display(stream: IO[str]) -> Iterator[Listener]:
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

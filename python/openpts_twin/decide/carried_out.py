"""What `openpts decide` does once it knows the question: the plan, the runs, the answer, its record."""

import sys
from collections.abc import Sequence
from dataclasses import replace as with_fields
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import IO, TYPE_CHECKING, Any, Final

import click
import msgspec

from openpts.batch.chosen_drives import ChosenDrive, chosen_drives, refuse_any
from openpts.batch.named_drives import named_drives
from openpts.cli.consent_options import consent_of, taken
from openpts.cli.fitting_scale import at_fitting_scale
from openpts.cli.plan_text import answer_lines
from openpts.cli.planned_run import planned_run
from openpts.cli.printed_document import print_document
from openpts.cli.printed_plan import plan_target
from openpts.cli.procedure_options import Choices, chosen
from openpts.cli.report import reports_on
from openpts.cli.run_order import order_of
from openpts.cli.terminal import BELOW_LABELS, wrapped
from openpts.errors import LimitError, NoVerdictError
from openpts.parameters.overrides import Given
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.plan import RunPlan
from openpts.procedures.registry import procedure_of
from openpts.record.writer import RunWriter
from openpts.run_folder_files import write_files
from openpts.system_files import SystemRoots
from openpts.temporary_folder import temporary_folder
from openpts.units import format_duration
from openpts.vocabulary.consent import Consent
from openpts_twin.decide.answer import NAMES, DecidedDrive, DecisionDocument, decision_document, percent
from openpts_twin.decide.measured_rounds import UNCOUNTED, Runs, block_of
from openpts_twin.decide.question import Question
from openpts_twin.decide.sequential import Decision, Lengths, Look, look

if TYPE_CHECKING:
    from openpts.analysis.uncertainty import Block

_TEST: Final = "workload"
_FIGURES: Final = {"iops": "iops", "throughput": "throughput", "mean": "mean-latency"}
_EXIT_CODES: Final = {
    Decision.YES: 0,
    Decision.NO: LimitError.exit_code,
    Decision.OPEN: NoVerdictError.exit_code,
}
_RECORD: Final = "decision.json"
_JOB: Final = "decide.fio"
_ROUND_S: Final = 60.0
_FILLS: Final = 1.0
_FILLS_QUICK: Final = 0.5
"""User capacities that a load which writes moves before its rounds."""


class Asked(msgspec.Struct, frozen=True):
    """A question with what its plan is made from; without ``round_s``, rounds are those of the test."""

    question: Question
    round_s: float | None
    spread_pct: float
    folder: Path
    quick: bool
    tbw_bytes: int | None
    plan_only: bool

    @property
    def lengths(self) -> Lengths:
        """How many rounds it takes at the most."""
        return Lengths.of(self.question.margin, self.spread_pct / 100)


def carried_out(
    asked: Asked,
    names: Sequence[str],
    options: dict[str, Any],
    stream: IO[str],
    *,
    as_json: bool,
    no_report: bool,
) -> int:
    """Print the plan, carry it out, and say the answer; returns the exit code. Raises what a run raises."""
    agreed, purge = taken(options), options.pop("purge")
    with temporary_folder("decide") as work:
        job = work / _JOB
        write_files(work, {_JOB: asked.question.load.job(asked.round_s or _ROUND_S).encode()}, lasting=False)
        choices = _choices(asked, job)
        targets = [at_fitting_scale(name, [choices], stream) for name in names]
        _print_plan(asked, [_plan(choices, target) for target in targets], targets, stream)
        if asked.plan_only:
            return 0
        drives = _consented(targets, agreed)
        RunWriter.check_free(asked.folder)
        orders = [
            order_of(
                one.name, choices, consent, purge=purge, out=asked.folder / NAMES[place].lower(), **options
            )
            for place, (one, consent) in enumerate(drives)
        ]
        runs = Runs([(choices.test, order) for order in orders], _said_on(stream))
        document = _decide(asked, runs, [one.name for one, _ in drives], stream)
    _end(asked, document, runs, stream, as_json=as_json, no_report=no_report)
    return _EXIT_CODES[document.decision]


def _choices(asked: Asked, job: Path) -> Choices:
    """The test that makes the rounds, as if its words had been typed."""
    figure = _FIGURES.get(asked.question.figure, "p99-latency")
    values: dict[str, Any] = {
        "job": str(job),
        "figure": figure,
        "further_rounds": asked.lengths.most + UNCOUNTED,
    }
    load = asked.question.load
    if load.read_pct < 100:  # a fresh drive's rate is steady, too, until it has to collect
        values["load_fills"] = _FILLS_QUICK if asked.quick else _FILLS
    if asked.quick and asked.round_s is not None:
        values |= {"time_scale": 1, "longest_step_seconds": asked.round_s}
    given = Given(values, dict.fromkeys(values, "QUESTION"))
    return chosen(procedure_of(_TEST), None, given, drive_class=None, is_quick=asked.quick, seed=None)


def _plan(choices: Choices, target: str) -> RunPlan:
    unopened = plan_target(target, None, choices.test, SystemRoots())
    return planned_run(
        choices, unopened, AssumedDrive.rated(unopened.preset.rated if unopened.preset else {})
    )


def _print_plan(asked: Asked, plans: Sequence[RunPlan], targets: Sequence[str], stream: IO[str]) -> None:
    """Hours, writes and wear of each drive, before anything is touched."""
    lengths, question = asked.lengths, asked.question
    lines = [
        f"question    {question.text}",
        f"load        {question.load}, rounds of {format_duration(plans[0].longest[-1].durations_ns[0])}",
        f"rounds      {lengths.fixed} by a fixed plan for a spread of {asked.spread_pct:g} %, "
        f"{lengths.most} at most, fewer as soon as they answer",
    ]
    for name, target, plan in zip(NAMES, targets, plans, strict=False):
        lines += [f"drive {name}     {target}", *answer_lines([plan], asked.tbw_bytes)]
    if len(plans) > 1:
        lines.append("together    both drives at once, each round of both before the next of either")
    for line in lines:
        click.echo(wrapped(line, stream, BELOW_LABELS), file=stream)


def _consented(targets: Sequence[str], agreed: dict[str, Any]) -> list[tuple[ChosenDrive, Consent]]:
    """The drives, each with the consent to lose what is on it. Raises RefusedBatchError if one is refused."""
    roots = SystemRoots()
    serials: tuple[str, ...] = agreed.pop("confirm_serials")
    paths: tuple[str, ...] = agreed.pop("confirm_device_paths")
    consent = consent_of(confirm_serial=None, confirm_device_path=None, **agreed)
    found = chosen_drives(named_drives(targets, None, roots), consent, serials, paths, roots)
    refuse_any(found, serials, paths)
    return [
        (
            one,
            with_fields(
                consent,
                confirm_serial=one.serial if one.serial in serials else None,
                confirm_device_path=one.written.confirm_device_path,
            ),
        )
        for one in found
    ]


def _said_on(stream: IO[str]) -> Any:
    return lambda number, text: click.echo(f"{NAMES[number]}: {text}", file=stream)


def _decide(asked: Asked, runs: Runs, targets: Sequence[str], stream: IO[str]) -> DecisionDocument:
    """Judge round by round, until the question is answered, the rounds are at their end, or on Ctrl-C."""
    question, lengths = asked.question, asked.lengths
    blocks: list[Block] = []
    values: list[tuple[float, ...]] = []
    found, stopped = look((), question.margin, lengths.most), False
    try:
        with runs.rounds() as rounds:
            for samples in rounds:
                block = block_of(samples, question.figure, question.towards_yes, len(blocks))
                if block is None:
                    continue
                blocks.append(block[0])
                values.append(block[1])
                found = look(blocks, question.margin, lengths.most)
                click.echo(_look_line(question, found, lengths), file=stream)
                if found.decision is not Decision.OPEN or found.rounds >= lengths.most:
                    break
    except KeyboardInterrupt:
        stopped = True
    drives = tuple(
        DecidedDrive(
            name=NAMES[place],
            target=target,
            run=NAMES[place].lower(),
            steady=place not in runs.not_steady and bool(values),
            mean=exp(fmean(log(one[place]) for one in values)) if values else None,
        )
        for place, target in enumerate(targets)
    )
    return decision_document(question, found, lengths, drives, tuple(values), stopped=stopped)


def _look_line(question: Question, found: Look, lengths: Lengths) -> str:
    side = 1 if question.upwards else -1
    text = f"round {found.rounds} of {lengths.most} at most: {percent(side * found.mean):+.2f} %"
    return f"{text}, {found.decision}" if found.low is not None else text


def _end(
    asked: Asked, document: DecisionDocument, runs: Runs, stream: IO[str], *, as_json: bool, no_report: bool
) -> None:
    asked.folder.mkdir(parents=True, exist_ok=True)
    raw = msgspec.json.format(msgspec.json.encode(document), indent=1)
    write_files(asked.folder, {_RECORD: raw + b"\n"})
    for folder in () if no_report else runs.folders:
        if (folder / "run.db").exists():
            reports_on(folder)
    if as_json:
        print_document(document)
        return
    click.echo(wrapped(document.sentence, sys.stdout))
    click.echo(wrapped(document.evidence, sys.stdout))
    click.echo(f"record: {asked.folder / _RECORD}", file=stream)

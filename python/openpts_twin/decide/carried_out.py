"""What `openpts decide` does once it knows the question: the plan, the runs, the answer, its record."""

import sys
from collections.abc import Sequence
from dataclasses import replace as with_fields
from itertools import chain
from math import ceil, exp, log
from pathlib import Path
from statistics import fmean
from typing import IO, TYPE_CHECKING, Any, Final

import click
import msgspec

from openpts.batch.chosen_drives import ChosenDrive, chosen_drives, refuse_any
from openpts.batch.named_drives import named_drives
from openpts.cli.consent_options import consent_of, taken
from openpts.cli.fitting_scale import at_fitting_scale
from openpts.cli.live_outputs import log_stream
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
from openpts.procedures.kit.host_limits import busy_host
from openpts.procedures.registry import procedure_of
from openpts.record.reader import read_run
from openpts.record.writer import RunWriter
from openpts.run_folder_files import write_files
from openpts.runner.order import Order
from openpts.system_files import SystemRoots
from openpts.temporary_folder import temporary_folder
from openpts.units import format_duration
from openpts.vocabulary.consent import Consent
from openpts_twin.decide.answer import NAMES, DecidedDrive, DecisionDocument, decision_document, percent
from openpts_twin.decide.measured_rounds import UNCOUNTED, Runs
from openpts_twin.decide.question import Load, Question
from openpts_twin.decide.sequential import LOOKS_PER_ROUND, Decision, Lengths, Look, look
from openpts_twin.decide.whole_tests import WholeTests

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
    """A question, what its plan is made from, and how it is answered.

    Without ``round_s``, rounds are those of the test.
    """

    question: Question
    round_s: float | None
    spread_pct: float
    folder: Path
    quick: bool
    tbw_bytes: int | None
    plan_only: bool
    as_json: bool
    no_report: bool

    def say(self, line: str) -> None:
        """Print a line of what is done."""
        click.echo(line, file=self.stream)

    def say_of(self, place: int, line: str) -> None:
        """The same of the drive at that place."""
        self.say(f"{NAMES[place]}: {line}")

    @property
    def stream(self) -> IO[str]:
        """Where it is said what is done."""
        return log_stream(as_json=self.as_json)

    @property
    def lengths(self) -> Lengths:
        """How many rounds it takes at the most; of a test each run is one look."""
        looks_per_round = 1 if self.question.test else LOOKS_PER_ROUND
        return Lengths.of(self.question.margin, self.spread_pct / 100, looks_per_round)


def carried_out(asked: Asked, names: Sequence[str], options: dict[str, Any]) -> int:
    """Print the plan, carry it out, and say the answer; returns the exit code. Raises what a run raises."""
    agreed, purge = taken(options), options.pop("purge")
    with temporary_folder("decide") as work:
        choices = _choices(asked, asked.question.load, work)
        targets = [at_fitting_scale(name, [choices], asked.stream) for name in names]
        _print_plan(asked, [_plan(choices, target) for target in targets], targets)
        if asked.plan_only:
            return 0
        drives = _consented(targets, agreed)
        RunWriter.check_free(asked.folder)

        def orders(suffix: str) -> list[Order]:
            folders = [asked.folder / f"{NAMES[place].lower()}{suffix}" for place in range(len(drives))]
            return [
                order_of(one.name, choices, consent, purge=purge, out=folder, **options)
                for (one, consent), folder in zip(drives, folders, strict=True)
            ]

        kind = WholeTests if asked.question.test else Runs
        runs = kind(asked.question, choices.test, orders, asked.say_of)
        document = _decide(asked, runs, [one.name for one, _ in drives])
    _end(asked, document, runs)
    return _EXIT_CODES[document.decision]


def _choices(asked: Asked, load: Load | None, work: Path) -> Choices:
    """The test that is asked about, or the one that makes rounds of a load, as if it had been typed."""
    if load is None:
        test = procedure_of(asked.question.test)
        return chosen(test, None, Given({}, {}), drive_class=None, is_quick=asked.quick, seed=None)
    write_files(work, {_JOB: load.job(asked.round_s or _ROUND_S, LOOKS_PER_ROUND).encode()}, lasting=False)
    figure = _FIGURES.get(asked.question.figure, "p99-latency")
    values: dict[str, Any] = {
        "job": str(work / _JOB),
        "figure": figure,
        "further_rounds": ceil(asked.lengths.rounds(asked.lengths.longest)) + UNCOUNTED,
    }
    if load.read_pct < 100:  # a fresh drive's rate is steady, too, until it has to collect
        values["load_fills"] = _FILLS_QUICK if asked.quick else _FILLS
    if asked.quick and asked.round_s is not None:
        values |= {"time_scale": 1, "longest_step_seconds": asked.round_s / LOOKS_PER_ROUND}
    given = Given(values, dict.fromkeys(values, "QUESTION"))
    return chosen(procedure_of(_TEST), None, given, drive_class=None, is_quick=asked.quick, seed=None)


def _plan(choices: Choices, target: str) -> RunPlan:
    unopened = plan_target(target, None, choices.test, SystemRoots())
    return planned_run(
        choices, unopened, AssumedDrive.rated(unopened.preset.rated if unopened.preset else {})
    )


def _print_plan(asked: Asked, plans: Sequence[RunPlan], targets: Sequence[str]) -> None:
    """Hours, writes and wear of each drive, before anything is touched."""
    lengths, question = asked.lengths, asked.question
    lasting = f", {lengths.rounds(lengths.longest):g} where noise lasts" if question.load else ""
    round_ns = sum(plans[0].longest[-1].durations_ns)
    lines = [
        f"question    {question.text}",
        f"load        {question.load}, rounds of {format_duration(round_ns)}, each quarter of which is judged"
        if question.load
        else f"test        {question.test}, each run from the purge on",
        f"{question.repeats:<12}{lengths.fixed} by a fixed plan for a spread of {asked.spread_pct:g} %, "
        f"{lengths.rounds(lengths.most):g} at most{lasting}, fewer as soon as they answer",
    ]
    repeats = lengths.most if question.test else 1
    for name, target, plan in zip(NAMES, targets, plans, strict=False):
        lines += [f"drive {name}     {target}", *answer_lines([plan] * repeats, asked.tbw_bytes)]
    if len(plans) > 1:
        each = "run" if question.test else "quarter"
        lines.append(f"together    both drives at once, each {each} of both before the next of either")
    for line in lines:
        asked.say(wrapped(line, asked.stream, BELOW_LABELS))


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


def _decide(asked: Asked, runs: Runs | WholeTests, targets: Sequence[str]) -> DecisionDocument:
    """Judge round by round, until the question is answered, the rounds are at their end, or on Ctrl-C."""
    question, lengths = asked.question, asked.lengths
    blocks: list[Block] = []
    values: list[tuple[float, ...]] = []
    found, stopped = look((), question.margin, lengths.most), False
    try:
        with runs.judged() as judged:
            for block, figures in judged:
                blocks.append(block)
                values.append(figures)
                found = look(blocks, question.margin, lengths.most)
                asked.say(_look_line(question, found, lengths))
                if found.decision is not Decision.OPEN or lengths.has_ended(found):
                    break
    except KeyboardInterrupt:
        stopped = True
    drives = tuple(
        DecidedDrive(
            name=NAMES[place],
            target=target,
            runs=tuple(folder.name for folder in folders),
            steady=place not in runs.not_steady and bool(values),
            mean=exp(fmean(log(one[place]) for one in values)) if values else None,
            busy_host=busy_host(read_run(folders[-1])) if values else "",
        )
        for place, (target, folders) in enumerate(zip(targets, runs.folders, strict=True))
    )
    return decision_document(question, found, lengths, drives, tuple(values), blocks=blocks, stopped=stopped)


def _look_line(question: Question, found: Look, lengths: Lengths) -> str:
    side = 1 if question.upwards else -1
    made = f"{lengths.rounds(found.count):g} of {lengths.rounds(lengths.most):g} {question.repeats} at most"
    if found.told < found.count:
        made += f", which tell as much as {lengths.rounds(found.told):.3g}"
    text = f"{made}: {percent(side * found.mean):+.2f} %"
    return f"{text}, {found.decision}" if found.low is not None else text


def _end(asked: Asked, document: DecisionDocument, runs: Runs | WholeTests) -> None:
    asked.folder.mkdir(parents=True, exist_ok=True)
    raw = msgspec.json.format(msgspec.json.encode(document), indent=1)
    write_files(asked.folder, {_RECORD: raw + b"\n"})
    for folder in () if asked.no_report else chain.from_iterable(runs.folders):
        if (folder / "run.db").exists():
            reports_on(folder)
    if asked.as_json:
        print_document(document)
        return
    click.echo(wrapped(document.sentence, sys.stdout))
    click.echo(wrapped(document.evidence, sys.stdout))
    asked.say(f"record: {asked.folder / _RECORD}")

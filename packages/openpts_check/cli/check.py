"""`openpts check`: a question about a disk in use, answered in minutes; nothing of others is touched."""

import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from openpts.cli.options import PATH, EnduranceBytes, FiniteRange, argument, flag, option, with_options
from openpts.cli.procedure_options import Choices
from openpts.cli.report import reports_on
from openpts.cli.standard_streams import print_document, wrapped
from openpts.errors import LimitError, NoVerdictError, RefusedError, TargetError, UsageError
from openpts.fields.parsing import amount_bytes
from openpts.parameters.overrides import Overrides
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run, has_begun, read_manifest, read_run
from openpts.runner.events import Event, StepsStarted
from openpts.system_files import SystemRoots
from openpts.units import MIB, NS_PER_S, format_capacity
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import People
from openpts.vocabulary.limit import Judgement
from openpts.vocabulary.purge import NONE, Consent
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import ActiveRange, ByteAmount, planned_length_ns
from openpts_check.answer import WORDS, CheckAnswer, answer_of
from openpts_check.check import PROCEDURE
from openpts_check.check.script import asked_of
from openpts_check.purpose import Asked, CheckPurpose, purpose_named, purpose_names
from openpts_pages.texts import fact_text

if TYPE_CHECKING:
    from openpts_check.place import Place


_HEAD: Final = 11


def screen_lines(run: Run, answer: CheckAnswer, reports: Sequence[str], columns: int) -> Iterator[str]:
    """Lines of at most so many columns, as far as names of files allow."""
    yield from textwrap.wrap(f"{answer.word}: {answer.reason}", columns)
    yield from _parts("Question", [answer.purpose.question], columns)
    yield from _parts("Disk", [_disk(run)], columns)
    yield ""
    yield from _figure_lines(answer, columns)
    yield ""
    yield from _parts("Also", [one.text for one in answer.shown], columns)
    yield from _parts("How sure", answer.sure, columns)
    yield from _parts("Next", answer.advice, columns)
    yield from _parts("Report", reports, columns)


def _disk(run: Run) -> str:
    target = run.manifest.target
    if target.simulation is not None:
        return f"{target.path}, simulated"
    return f"{fact_text(run.manifest.dut, 'model', target.name)}; {Path(target.path).parent}"


def _figure_lines(answer: CheckAnswer, columns: int) -> Iterator[str]:
    """Two lines each: the value with its verdict, then the repeats, the bound and who published it."""
    label_width = max(len(one.figure.label) for one in answer.figures)
    value_width = max(len(one.text) for one in answer.figures)
    for one in answer.figures:
        value = f"{one.text:>{value_width}}  {WORDS[one.judgement].lower()}"
        yield f"  {one.figure.label:<{label_width}}  {value}"
        held = f"{f'{one.span}; ' if one.span else ''}{one.limit.limit} ({one.figure.bound.source})"
        yield from textwrap.wrap(held, columns, initial_indent=" " * 6, subsequent_indent=" " * 6)


def _parts(head: str, texts: Sequence[str], columns: int) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield from textwrap.wrap(
            text,
            columns,
            initial_indent=f"{'' if number else head:<{_HEAD}}",
            subsequent_indent=" " * _HEAD,
            break_long_words=False,
            break_on_hyphens=False,
        )


_EXIT_CODES: Final = {
    Judgement.PASS: 0,
    Judgement.FAIL: LimitError.exit_code,
    Judgement.NO_VERDICT: NoVerdictError.exit_code,
}
_PIPE_COLUMNS: Final = 120
_ENDURANCE: Final = "endurance"
_LONGEST_MINUTES: Final = 1440


@click.command("check", short_help="Answer whether a disk in use is good enough for a purpose.")
@with_options
def check(  # long: its parameters are the options
    *,
    target: str | None = argument("DIR|DRIVE|RUN", required=False),
    purpose_name: str | None = option(
        "--for PURPOSE", "Answer for this purpose; without it they are listed.", name="purpose_name"
    ),
    minutes: float | None = option(
        "N",
        "Measure for so many minutes, all loads and repeats together; for endurance, 1.",
        FiniteRange(0.01, 100_000),
    ),
    repeats: int | None = option("N", "Apply all loads this many times; 3.", click.IntRange(2, 100)),
    heated: float | None = option(
        "MINUTES", "Then read for this long, and measure once more: what heat does.", FiniteRange(0.01, 1440)
    ),
    size: int | None = option("SIZE", "Use a file of this size.", amount_bytes),
    like: str | None = option(
        "RATE|TRACE|APP",
        "Load of --for endurance: a rate such as 50GB/day, 3MB/s or 0.3DWPD, a trace, or a program to run, "
        "with its arguments in one word. Without it, what is written meanwhile.",
    ),
    tbw: int | None = option(
        "", "For endurance, as rated, such as 1.2PB; a number alone is in TB.", EnduranceBytes()
    ),
    out: Path | None = option("", "Run folder; must be new or empty.", PATH),
    seed: int | None = option("N", "Seed of offsets and data; random.", click.IntRange(0, 2**63 - 1)),
    no_report: bool = flag("Answer without making a report; see `openpts report`."),
    as_json: bool = flag("Print one JSON object.", name="--json"),
) -> int:
    """Answer whether a disk that is in use is good enough for a purpose, without consent to erase anything.

    DIR is a directory on the disk that is meant, DRIVE a drive with a mounted file system; a simulated drive
    is possible, too. Files of openpts' own are read and written there: they leave at least 1 GB free, and are
    gone at the end. RUN is the folder of an earlier question, whose answer is shown again.

    `--for endurance` shows how long a drive lasts under a load of yours, by its own log and by its rated
    endurance. It writes nothing and leaves no folder; the log is read before and after, which takes root.

    Ends with exit code 0 for yes, 10 for no, 13 if it can't be said.
    """
    of_run = {"--repeats": repeats, "--heated": heated, "--size": size, "--out": out, "--seed": seed}
    of_run |= {"--no-report": no_report or None}
    of_endurance = {"--like": like, "--tbw": tbw}
    if target is None:
        if purpose_name is not None:
            raise UsageError(
                f"no disk: name a directory on it, as in `openpts check DIR --for {purpose_name}`"
            )
        _list_purposes("DIR", sys.maxsize)
        return 0
    folder = Path(target)
    # the record of another test is in a folder like others
    if folder.is_dir() and has_begun(folder) and read_manifest(folder).conditions.test == PROCEDURE.name:
        asked = {"--for": purpose_name, "--minutes": minutes, **of_run, **of_endurance, "--no-report": None}
        _refuse(asked, f"{target} was asked already; its answer is that of its record")
        return _printed(read_run(folder), (), as_json=as_json)
    if purpose_name == _ENDURANCE:
        _refuse(of_run, "endurance is answered by the drive's log: nothing is written, and no folder made")
        from openpts_check.cli.endurance import answer_endurance  # noqa: PLC0415 other purposes need no log

        return answer_endurance(target, like, tbw, minutes, as_json=as_json)
    _refuse(of_endurance, f"only --for {_ENDURANCE} takes a load and a rating")
    from openpts_check.place import Place  # noqa: PLC0415 help needs no disk

    roots = SystemRoots()
    place = Place.of(target, roots)
    if purpose_name is None:
        _list_purposes(target, place.room_bytes)
        raise UsageError("no purpose: give --for with one of this list")
    if minutes is not None and minutes > _LONGEST_MINUTES:
        raise UsageError(f"--minutes {minutes:g}: only --for {_ENDURANCE} takes more than {_LONGEST_MINUTES}")
    purpose = purpose_named(purpose_name, (_ENDURANCE,))
    if minutes is not None and not purpose.timed_loads:
        raise UsageError(f"--minutes: {purpose.name} ends when its file is written and read: give --size")
    if heated is not None and not purpose.heats:
        raise UsageError(f"--heated: {purpose.name} does not ask what heat does")
    size_bytes = place.size_bytes(size or purpose.size_bytes, purpose.least_bytes)
    choices = _choices(
        purpose, size_bytes, repeats=repeats or purpose.repeats, minutes=minutes, heated=heated, seed=seed
    )
    if place.tidy():
        click.echo(f"removed what a question that was killed had left in {target}", err=True)
    click.echo(wrapped(_announced(purpose, place, size_bytes, choices), sys.stderr), err=True)
    from openpts_sim.cli.fitting_scale import at_fitting_scale  # noqa: PLC0415 help needs nothing that plans

    folder = _asked(at_fitting_scale(place.named(size_bytes), [choices], sys.stderr), choices, out)
    written = () if no_report else reports_on(folder)
    documents = tuple(str(path) for one in written for path in one.documents)
    return _printed(read_run(folder), documents, as_json=as_json)


def _refuse(given: Mapping[str, object], why: str) -> None:
    """Raise UsageError for the first option that was given."""
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name}: {why}")


def _choices(
    purpose: CheckPurpose,
    size_bytes: int,
    *,
    repeats: int,
    minutes: float | None,
    heated: float | None,
    seed: int | None,
) -> Choices:
    """What the options choose of the test's parameters."""
    load_s = purpose.load_s
    if minutes is not None:
        load_s = minutes * 60 / (repeats * purpose.timed_loads)
    given = {
        "purpose": purpose.name,
        "size": f"{size_bytes // MIB}MiB",
        "repeats": repeats,
        "heat_seconds": 60 * (heated or 0),
        "step_seconds": load_s,
    }
    options = {
        "size": "--size",
        "repeats": "--repeats",
        "heat_seconds": "--heated",
        "step_seconds": "--minutes",
    }
    return Choices(
        test=PROCEDURE,
        drive_class=DriveClass.CLIENT,
        seed=seed,
        overrides=Overrides(given, {"purpose": "--for", **options}),
        short=Overrides(),
        settings={},
    )


def _announced(purpose: CheckPurpose, place: "Place", size_bytes: int, choices: Choices) -> str:
    """What will be done, before anything is."""
    conditions: Any = choices.adjust(PROCEDURE.standard_conditions(DriveClass.CLIENT, 0))
    length = _length_text(purpose, asked_of(conditions, size_bytes), conditions.repeats)
    what = f"{purpose.name} on {place.disk}, {place.space}: about {length}"
    if place.is_simulated:
        return f"{what} of its own time"
    begins = "once a file of {} is written" if purpose.fills else "with a file of {}"
    return f"{what}, {begins.format(format_capacity(size_bytes))}; it is removed at the end and by Ctrl-C"


def _length_text(purpose: CheckPurpose, asked: Asked, repeats: int) -> str:
    """How long all loads take together, bytes at 1 GB/s: ``54 s``."""
    length_ns = 0
    for load in purpose.loads(asked):
        match load.stop:
            case None:
                each_ns = asked.load_ns
            case ByteAmount(amount_bytes):
                each_ns = amount_bytes
            case stop:
                each_ns = planned_length_ns(stop) or 0
        length_ns += each_ns * (1 if load.once else repeats)
    seconds = round(length_ns / NS_PER_S)
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"


def _asked(target: str, choices: Choices, out: Path | None) -> Path:
    """The folder of the finished run. Raises NoVerdictError where the place can't be measured on."""
    from openpts.runner.run import run_test  # noqa: PLC0415 likewise
    from openpts.runner.settings import RunSettings  # noqa: PLC0415 help needs nothing that runs

    settings = RunSettings(
        target=target,
        drive_class=DriveClass.CLIENT,
        adjust=choices.adjust,
        admit=choices.admit,
        consent=Consent(),
        purge=NONE,
        people=People(),
        command_line=tuple(sys.argv[1:]),
        folder=out,
        seed=choices.seed,
    )
    try:
        return run_test(PROCEDURES[PROCEDURE.name], settings, [_say]).folder
    except RefusedError:
        raise
    except TargetError as error:
        raise NoVerdictError(f"can't say: {error}") from error


def _say(event: Event) -> None:
    """A line for each part."""
    if isinstance(event, StepsStarted):
        apply = event.apply
        words = {Phase.CONDITIONING: "writing the file", Phase.LOAD: "what comes after them"}
        text = words.get(apply.phase, f"repeat {apply.number} of {apply.most}")
        click.echo(f"  {text} ...", err=True)


def _printed(run: Run, documents: tuple[str, ...], *, as_json: bool) -> int:
    answer = answer_of(run)
    if as_json:
        print_document(answer.document(str(run.folder), documents))
        return _EXIT_CODES[answer.judgement]
    columns = min(os.get_terminal_size().columns, _PIPE_COLUMNS) if sys.stdout.isatty() else _PIPE_COLUMNS
    shown = tuple(one for one in documents if not one.endswith(".json")) or (str(run.folder),)
    for line in screen_lines(run, answer, shown, columns):
        click.echo(line)
    return _EXIT_CODES[answer.judgement]


def _list_purposes(target: str, room_bytes: int) -> None:
    for name in purpose_names():
        purpose = purpose_named(name)
        size_bytes = min(purpose.size_bytes, room_bytes)
        asked = Asked(ActiveRange(), size_bytes, round(purpose.load_s * NS_PER_S))
        length, size = _length_text(purpose, asked, purpose.repeats), format_capacity(size_bytes)
        click.echo(f"  {name:<10} {purpose.question}")
        click.echo(f"  {'':<10} about {length}, a file of {size} at most")
    click.echo(f"  {_ENDURANCE:<10} How long will it last under a load of mine?")
    click.echo(f"  {'':<10} about 1 min, or none with --like 50GB/day; nothing is written")
    click.echo(f"for example: openpts check {target} --for {purpose_names()[0]}")

"""`openpts run`: carry out a test on a target."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec.structs import replace

from openpts.cli.commands_on_demand import Decorator, OnDemand, example_of, of_group, of_tests, together
from openpts.cli.consent_options import CONFIRM_NAMESPACE, CONSENT_OPTIONS_OF_SEVERAL, consent_of, popped
from openpts.cli.live_outputs import log_stream
from openpts.cli.options import FOLDER, FiniteRange, listing_option, option
from openpts.cli.procedure_options import PassthroughArgs, choices_of, help_of, options_of, targets_of
from openpts.cli.run_options import PURGE_OPTION, RUN_OPTIONS
from openpts.cli.several import several, several_options
from openpts.errors import UsageError
from openpts.fields.conditions import Conditions
from openpts.plugins import imported
from openpts.procedures.kit.judge import the_judge
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.registry import PROCEDURES
from openpts.units import NS_PER_DAY

if TYPE_CHECKING:
    from openpts.runner.settings import RunSettings

_CONTINUE_OPTIONS: Final = (
    option(
        "--continue RUN",
        "Follow the finished run in this folder on the same drive, without a purge. Read first what it "
        "wrote last, then continue its numbers of cycles, under its conditions where none are given.",
        FOLDER,
        name="continued",
    ),
    option(
        "--rest-days DAYS",
        "With --continue, leave a simulated drive alone for this long first; 0.",
        FiniteRange(0, 3650),
    ),
)


_RUN_ID_OPTION: Final[Decorator] = option(
    "--run-id UUID",
    "Run under this ID, from a scheduler, instead of a new one: claims on drive and folder have it.",
    click.UUID,
)


_LIST_OPTION: Final[Decorator] = listing_option(
    "List what ships for this test, or print the file of NAME, to read or to edit a copy; run nothing.",
    name="listed",
)


def _continuing(
    settings: "RunSettings", folder: Path | None, rest_days: float | None, *, purges: bool
) -> "RunSettings":
    """The settings of a run that follows the one in the folder, if there is one. Raises UsageError."""
    if folder is None:
        if rest_days is not None:
            raise UsageError("--rest-days needs --continue: only data that an earlier run wrote can age")
        return settings
    if purges:
        raise UsageError("--purge can't go with --continue, which reads what the earlier run wrote")
    from openpts.record.reader import stored_run  # noqa: PLC0415 slow to load
    from openpts.runner.resumed_run import Continuation  # noqa: PLC0415 likewise

    rest_ns = None if rest_days is None else round(rest_days * NS_PER_DAY)
    return replace(settings, continues=Continuation(stored_run(folder), rest_ns))


def judge_options(conditions: type[Conditions] | None = None) -> tuple[Decorator, ...]:
    """The options of what holds finished runs against something."""
    judge = the_judge()
    options: tuple[Decorator, ...] = () if judge is None else judge.part("options")(conditions)
    return options


_SIMULATED: Final = re.compile(r'"?sim:\S+')


def _examples_of(test: Procedure) -> str:
    """On a simulated drive if the test has an example of one, and on a drive."""
    simulated = example_of(f"openpts run {test.name}")
    real = _SIMULATED.sub("/dev/nvme0n1 --confirm-serial S3R1AL", simulated)
    return "\n".join(["\b", "Examples:", *(f"  {one}" for one in dict.fromkeys((simulated, real)))])


def _command(test: Procedure) -> click.Command:
    """`openpts run TEST`, with an option for each of its parameters."""

    @click.command(test.name, cls=PassthroughArgs, test=test, help=help_of(test), epilog=_examples_of(test))
    @together(*options_of(test))
    @click.argument("targets", metavar="TARGET...", nargs=-1)
    @together(*([PURGE_OPTION] if test.purges else []))
    @together(*(_CONTINUE_OPTIONS if test.resumes else []))
    @together(*judge_options(test.conditions))
    @together(*([_LIST_OPTION] if test.lists else []))
    @_RUN_ID_OPTION
    @together(*several_options(), *CONSENT_OPTIONS_OF_SEVERAL, CONFIRM_NAMESPACE)
    @RUN_OPTIONS
    def command(
        *,
        as_json: bool,
        no_report: bool,
        listed: str | None = None,
        continued: Path | None = None,
        rest_days: float | None = None,
        drives: str | None = None,
        stagger_s: float | None = None,
        at_most: int | None = None,
        **options: Any,
    ) -> None:
        if listed is not None:
            imported(test.lists)(listed, as_json=as_json)
            return
        from openpts.cli.planned_run import fitting_target  # noqa: PLC0415 help needs nothing that runs
        from openpts.cli.run_settings import end_run, run_and_log, settings_of  # noqa: PLC0415 likewise

        targets = targets_of(test, options, drives)
        judge = the_judge()
        limits = None if judge is None else judge.part("asked")(options)
        if len(targets) > 1 or drives is not None:
            if continued is not None:
                raise UsageError("--continue follows the run of one drive: name one TARGET")
            asked = {"stagger_s": stagger_s or 0.0, "at_most": at_most, "as_json": as_json}
            several().part("run")(
                test, options, limits, targets=targets, drives=drives, no_report=no_report, **asked
            )
            return
        if continued is not None and options["like_run"] is not None:
            raise UsageError("--like can't go with --continue, which has the conditions of its own run")
        if stagger_s is not None or at_most is not None:
            several().part("refuse_alone")(stagger_s=stagger_s, at_most=at_most)
        if not targets:
            raise click.MissingParameter(param_hint="'TARGET'", param_type="argument")
        consent = consent_of(popped(options))
        stream = log_stream(as_json=as_json)
        choices = choices_of(test, options, None if continued else targets[0])
        target = targets[0] if continued else fitting_target(targets[0], [choices], stream)
        settings = settings_of(target, choices, consent, **options)
        settings = _continuing(settings, continued, rest_days, purges=options.get("purge") is not None)
        settings = settings if limits is None else limits.ordered(settings, test)
        folder = run_and_log(test, settings, stream)
        end_run(test, folder, stream, no_report=no_report, as_json=as_json)

    return command


@click.group(
    cls=OnDemand,
    commands=of_tests(_command, PROCEDURES, of_group("run")),
    subcommand_metavar="TEST [ARGS]...",
)
def run() -> None:
    """Run a test. DESTROYS ALL DATA on the target."""


def refuse_test_words(test_words: Sequence[str], target: str) -> None:
    """Raise click's error for words that the test does not take, before a run on ``target`` is planned."""
    name, *arguments = test_words
    at = arguments.index("--") if "--" in arguments else len(arguments)
    parent = click.Context(run, info_name="openpts run")
    context = run.commands[name].make_context(name, [*arguments[:at], target, *arguments[at:]], parent=parent)
    others = [word for word in context.params["targets"] if word != target]
    if others:
        raise click.UsageError(f"{others[0]}: the drive of a run is named once, by its slot or its target")

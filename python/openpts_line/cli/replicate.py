"""`openpts replicate`: the test of a passport once more elsewhere, and whether the figures agree."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import click

from openpts.cli.consent_options import CONFIRM_NAMESPACE, CONSENT_OPTIONS, consent_of, taken
from openpts.cli.console import table_console
from openpts.cli.help_order import together
from openpts.cli.live_outputs import log_stream
from openpts.cli.options import PATH, argument, option, with_options
from openpts.cli.printed_document import print_document
from openpts.cli.procedure_options import Choices
from openpts.cli.run_words import RUN_OPTIONS
from openpts.errors import LimitError, NoVerdictError, RecordError, UsageError
from openpts.fields.conditions import Conditions
from openpts.pages.kit import Cells, rows_table
from openpts.parameters.overrides import Given
from openpts.procedures.registry import procedure_of
from openpts.record.batch import batch_file
from openpts.record.reader import has_begun
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.purge import AUTO, NONE
from openpts_line.cli.compare_text import print_table
from openpts_line.replicate.passport import Passport
from openpts_line.replicate.replication import Agreement, Difference, Replicated, Replication, replicated

_PIPE_COLUMNS: Final = 150
_PURGE: Final = option("--purge METHOD", "Purge by this method, not by the passport's; see `openpts run`.")
_EXIT_CODES: Final = {
    Agreement.AGREES: 0,
    Agreement.DIFFERS: LimitError.exit_code,
    Agreement.NO_VERDICT: NoVerdictError.exit_code,
}


@click.command("replicate", short_help="Run the test of another lab once more, and compare.")
@with_options
@together(_PURGE, *CONSENT_OPTIONS, CONFIRM_NAMESPACE)
@RUN_OPTIONS
def replicate(
    *,
    passport: Path = argument("PASSPORT", PATH),
    target: str = argument("TARGET"),
    as_json: bool,
    **options: Any,
) -> int:
    """Run the test of a passport on another drive or host, and compare. DESTROYS ALL DATA on the target.

    PASSPORT is a run folder, or its seal alone (seal.json). TARGET is as for `openpts run`; the test runs
    under the conditions and with the seed of the passport. If TARGET is a run folder, nothing is run: it is
    compared. So it can be with what `openpts report --json` printed of a run, which has no conditions.

    Each key value has its E_n, the difference over the uncertainty of both: above 1 the two do not agree.
    Conditions that differ come first, and those that are known to bear on figures are named as possible
    causes. Ends with exit code 10 if the runs differ, 13 if that can't be said.
    """
    read, stream = Passport.read(passport), log_stream(as_json=as_json)
    folder = Path(target)
    if not (folder.is_dir() and (has_begun(folder) or batch_file(folder) is not None)):
        folder = _run(read, target, stream, options)
    elif options["out"] is not None:
        raise UsageError(f"{target} is a run folder, which is compared and not run: leave --out out")
    own = Passport.read(folder)
    if own.test != read.test:
        raise UsageError(f"{folder} is a run of {own.test}, {read.name} one of {read.test}")
    if read.run_id == own.run_id:
        raise UsageError(f"{folder} is the run of {read.name} itself: name another one")
    found = replicated(read, own)
    if as_json:
        print_document(found)
    else:
        _print(found)
    return _EXIT_CODES[found.verdict]


def _run(passport: Passport, target: str, stream: IO[str], options: dict[str, Any]) -> Path:
    """The folder of a run under the conditions of a passport. Raises what `openpts run` raises."""
    from openpts.cli.end_of_run import end_run  # noqa: PLC0415 help needs nothing that runs
    from openpts.cli.fitting_scale import at_fitting_scale  # noqa: PLC0415 likewise
    from openpts.cli.run_order import order_of, run_and_log  # noqa: PLC0415 likewise

    if passport.manifest is None:
        raise RecordError(f"{passport.name} has no conditions to run under: name the run folder or its seal")
    conditions = passport.manifest.conditions
    named = conditions.__struct_fields__
    if programs := [name for name in named if name.endswith("command") and getattr(conditions, name)]:
        raise RecordError(
            f"the run of {passport.name} started a program of its lab ({programs[0]}), which none does "
            f"here: start your own by `openpts run {passport.test}`, and name the run folder as TARGET"
        )
    if conditions.keeps_data:
        raise RecordError(
            f"the run of {passport.name} went on with data of an earlier run: no other has them"
        )

    class _OfPassport(Choices, frozen=True):
        def adjust(self, standard: Conditions) -> Conditions:  # noqa: ARG002
            return conditions

    test, no_report = procedure_of(passport.test), options.pop("no_report")
    settings = {"purge": _purge(passport, target)} if test.purges else {}
    choices = _OfPassport(test, conditions.drive_class, conditions.seed, Given(), Given(), settings)
    consent = consent_of(**taken(options))
    order = order_of(at_fitting_scale(target, [choices], stream), choices, consent, **options)
    folder = run_and_log(test, order, stream)
    end_run(test, folder, stream, no_report=no_report, as_json=False)
    return folder


def _purge(passport: Passport, target: str) -> str:
    """What the first purge of a passport was, in the words of ``--purge``; drives alone have methods."""
    of = passport.manifest
    if of is None or not of.purges:
        return AUTO
    first = of.purges[0]
    name = first.name if of.target.kind is TargetKind.BLOCK and target.startswith("/") else ""
    return name or (AUTO if first.ran or first.name else NONE)


def _print(found: Replication) -> None:
    console = table_console(sys.stdout, pipe_columns=_PIPE_COLUMNS)
    console.print(f"{found.test}: passport {found.passport}, run {found.run}")
    if not found.conditions_known:
        console.print("The passport has no conditions: what differs in them is not known.")
    elif not found.differences:
        console.print("No condition on record differs.")
    else:
        heads = "Condition:<1 | Passport:<1 | Run:<1 | What it does:<1"
        rows = _difference_rows(found.differences)
        print_table(console, rows_table("differences", "What differs in conditions", heads, rows))
    heads = "Key value:<1 | Unit:<1 | Passport | Run | E_n | :<1"
    rows = _value_rows(found.key_values)
    print_table(console, rows_table("values", "Key values, ± U at 95 %", heads, rows))
    console.print(f"\n{found.verdict.value.upper()}: {found.statement}", style="bold")


def _difference_rows(differences: Sequence[Difference]) -> Iterator[Cells]:
    """A row for each that is known to bear on figures; the others are named in a last one."""
    for one in differences:
        if one.effect:
            yield one.condition, one.passport, one.run, one.effect
    if others := [one.condition for one in differences if not one.effect]:
        yield "also", "", "", ", ".join(others)


def _value_rows(values: Sequence[Replicated]) -> Iterator[Cells]:
    """A row for each key value with an uncertainty; how many have none in a last one."""
    judged = [
        one for one in values if None not in {one.passport.expanded_uncertainty, one.run.expanded_uncertainty}
    ]
    for one in judged:
        texts = (one.passport.text, one.run.text, "-" if one.e_n is None else f"{one.e_n:+z.2f}")
        yield one.key, one.run.unit or "-", *texts, one.reason or one.agreement
    if others := len(values) - len(judged):
        yield f"{others} without U", "-", "", "", "-", "not judged"

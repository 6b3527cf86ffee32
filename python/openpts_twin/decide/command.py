"""`openpts decide`: the cheapest plan that answers a question, carried out until it is answered."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from openpts.cli.consent_options import CONFIRM_NAMESPACE, CONSENT_OPTIONS_OF_SEVERAL
from openpts.cli.help_order import together
from openpts.cli.number_types import Endurance, FiniteRange, Percent
from openpts.cli.options import argument, flag, option, with_options
from openpts.cli.run_words import PURGE_OPTION, RUN_OPTIONS
from openpts.errors import UsageError
from openpts_twin.decide.question import read_question

_SPREAD_PCT: Final = 5.0
_SPREAD_OF_TESTS_PCT: Final = 2.0
"""A test takes long, and its figures are of many rounds."""


def _unit_in_test(figure: str) -> str:
    from openpts_twin.decide.whole_tests import unit_in_test  # noqa: PLC0415 help needs nothing that runs

    return unit_in_test(figure)


@click.command("decide", short_help="Answer a question on drives in as few rounds as it takes.")
@with_options
@together(PURGE_OPTION, *CONSENT_OPTIONS_OF_SEVERAL, CONFIRM_NAMESPACE)
@RUN_OPTIONS
def decide(
    *,
    text: str = argument("QUESTION"),
    targets: tuple[str, ...] = argument("TARGET...", nargs=-1),
    more_targets: tuple[str, ...] = option("--targets TARGET...", "The drives, A first.", multiple=True),
    round_s: float | None = option(
        "--round SECONDS", "Length of a round, of which each quarter is judged; 60.", FiniteRange(0.1, 3600)
    ),
    spread: float | None = option(
        "PCT",
        "Spread of rounds that the plan is for, as a standard deviation; 5, and 2 of whole tests.",
        Percent(0.01, 50),
    ),
    tbw: int | None = option("", "Rated endurance, such as 1.2PB; a number alone is in TB.", Endurance()),
    quick: bool = flag("Precondition once and make rounds of a second, to look at the command."),
    plan_only: bool = flag("Print what it would take, and end."),
    as_json: bool,
    no_report: bool,
    **options: Any,
) -> int:
    """Answer a question on one drive or two, with error rates known beforehand. DESTROYS ALL DATA on them.

    QUESTION compares drive B with A, 'B slower than A by 5 %', 'B p99 higher than A by 10 %', or holds one
    against a bound, 'keeps p99.9 <= 10 ms', 'keeps iops >= 180 k by 2 %'. Behind `at` it may have a load,
    '4k random read qd 8', 'seq 128k write'; without one it is that of 4 KiB random writes at QD 32.
    A figure of a whole test is named as for `openpts gate`, 'iops.rnd-4k-rw0 >= 100 k', and decided by
    runs of the test, each from the purge on. TARGET is a drive as for `openpts run`; of two, A comes first.

    Drives are purged, written twice, and loaded until they are steady. Then rounds are judged, a quarter at a
    time, until the question is answered: a yes is wrong in 0.5 % where nothing is on that side, and is found
    in 95 % where it is the margin (5 % where no other is named). What it takes at the most is printed before
    anything is touched. Ends with exit code 0 for yes, 10 for no, 13 for not decided.
    """
    question = read_question(text, _unit_in_test)
    names = (*more_targets, *targets)
    if len(names) != question.targets:
        raise UsageError(
            f"{text!r} is on {'one drive' if question.targets == 1 else 'two drives, A and B'}, and "
            f"{len(names) or 'no'} {'target is' if len(names) == 1 else 'targets are'} named"
        )
    from openpts_twin.decide.carried_out import Asked, carried_out  # noqa: PLC0415 help needs nothing that runs

    out: Path | None = options.pop("out")
    if question.test and round_s is not None:
        raise UsageError(f"--round: the {question.test} test has its own rounds, and is run as a whole")
    asked = Asked(
        question=question,
        round_s=round_s,
        spread_pct=spread or (_SPREAD_OF_TESTS_PCT if question.test else _SPREAD_PCT),
        folder=out or Path("openpts-runs") / f"decide-{datetime.now(UTC):%Y%m%dT%H%M%SZ}",
        quick=quick,
        tbw_bytes=tbw,
        plan_only=plan_only,
        as_json=as_json,
        no_report=no_report,
    )
    return carried_out(asked, names, options)

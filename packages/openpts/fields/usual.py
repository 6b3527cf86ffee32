"""Fields that several tests have; a test changes the help where it means something of its own."""

from collections.abc import Collection
from typing import Any, Final

from msgspec.structs import replace

from openpts.analysis.run_comparison import ADVISED_RUNS, RSE_LIMIT_PCT
from openpts.fields.conditions import Contradictions
from openpts.fields.field import (
    DEPTH,
    FILLS,
    PASSES,
    ROUNDS,
    SECONDS,
    SIZE,
    SWITCH,
    THREADS,
    WORKLOAD,
    Field,
    count,
    number,
    percent,
)
from openpts.fields.readers import WorkloadTable, workload_or_same, workload_word
from openpts.units import format_count


def _with_workload(name: str, word: str | WorkloadTable, conditions: Any) -> Any:
    return replace(conditions, workload=workload_or_same(name, word, conditions.workload))


def _demand_text(word: str, where: str) -> Any:
    """A thread count or queue depth for the ledger; None is that of the test."""
    return lambda value: f"{word} of the test{where}" if value is None else f"{word} {value}{where}"


TC: Final = Field("Thread count (TC)", "Thread count.", THREADS, text="TC {}")
QD: Final = Field("Queue depth (QD)", "Queue depth of each thread.", DEPTH, text="QD {}")
SEQUENTIAL_TC: Final = Field(
    "Thread count (TC) of sequential workloads",
    "Thread count of sequential workloads.",
    THREADS,
    text="TC {} in sequential workloads",
    rare=True,
)
SEQUENTIAL_QD: Final = Field(
    "Queue depth (QD) of sequential workloads",
    "Queue depth of sequential workloads.",
    DEPTH,
    text="QD {} in sequential workloads",
    rare=True,
)
TCS: Final = Field("Thread counts (TC)", text="TC {}")
QDS: Final = Field("Queue depths (QD)", text="QD {}")
BLOCK_SIZE: Final = Field("Block size", "Block size of the sequential transfers.", SIZE, examples=("128KiB",))
SEQUENTIAL_BLOCK_SIZE: Final = Field("Block size of sequential accesses", kind=SIZE, examples=("128KiB",))
RANDOM_BLOCK_SIZE: Final = Field("Block size of random accesses", kind=SIZE, examples=("4KiB",))
PRECONDITION_BLOCK_SIZE: Final = Field(
    "Pre-conditioning block size", "Block size of preconditioning.", SIZE, rare=True
)
PRECONDITION_PASSES: Final = Field(
    "Pre-conditioning (x user capacity)", kind=PASSES, text="{} x user capacity", amount=True
)
PRECONDITION_TC: Final = Field(
    "Pre-conditioning thread count (TC)",
    kind=THREADS,
    text=_demand_text("TC", " in preconditioning"),
    rare=True,
)
PRECONDITION_QD: Final = Field(
    "Pre-conditioning queue depth (QD)", kind=DEPTH, text=_demand_text("QD", " in preconditioning"), rare=True
)
MAX_ROUNDS: Final = Field(
    "Rounds at most",
    "Give up after this many rounds.",
    ROUNDS,
    text=lambda rounds: f"up to {format_count(rounds, 'round')}",
)
WITHIN_PCT: Final = 5
"""What --short asks for."""
WITHIN: Final = Field(
    "Short form: tracked figures known within (%)",
    "Short form, and rounds until each tracked figure is known within PCT per cent, at 95 % confidence.",
    percent(gt=0, le=100),
    name="within",
    examples=(5,),
    text=lambda within: "at full length" if within is None else f"short form, known within {within:g} %",
)
KNOWN_FLASH: Final = Field(
    "Short form: what the flash holds, as stated",
    "Short form: what the flash holds, in active ranges, as the report of an earlier short run of this drive "
    "has it. Without, as much is written once more to find it.",
    number(gt=1, le=10),
    name="flash_holds",
    examples=(1.274,),
    text=lambda flash: "found" if flash is None else f"{flash:g} x active range, known",
    free="a part of the short form, which is a deviation by itself",
)
ONLY_SHORT: Final = Field(
    "Short form: stops where it does not hold",
    "Short form: stop where the drive doesn't behave as assumed, instead of continuing at full length.",
    SWITCH,
    free="a run that stops there has no results",
)
ONE_PASS: Final = Field(
    "Prepared in one pass",
    "Prepare the drive by the short form's pass: one pass leaves the state of long random writing. As "
    "without it where the drive doesn't behave as assumed. Untried on hardware.",
    SWITCH,
    name="short",
    text=lambda one_pass: "prepared in one pass" if one_pass else "prepared at full length",
)
TRACKING_PERIOD: Final = Field(
    "From one tracked minute to the next",
    "Time from the start of one tracked minute to that of the next.",
    SECONDS,
    name="tracking_seconds",
    text="tracked minutes {} apart",
    rare=True,
)
DRIVE_FILLS: Final = Field(
    "Ends after (x user capacity)",
    "End when this many times the user capacity are written.",
    FILLS,
    text="{} x user capacity",
    amount=True,
)
LONGEST: Final = Field(
    "Ends after (time)", "End after this time, if that comes first.", SECONDS, text="for {} at the most"
)
STEADY_AFTER: Final = Field(
    "Steady State looked for after (x user capacity)",
    "Don't end in steady state before this many times the user capacity are written.",
    PASSES,
    text="after {} x user capacity at the earliest",
    rare=True,
)
HISTOGRAM: Final = Field(
    "Length of the response time histogram",
    "Length of the stimulus of the response time histogram.",
    SECONDS,
    text="{} for the histogram",
)
NINES: Final = Field(
    "Nines asked of the histogram",
    "Make the histogram long enough for a percentile of N nines.",
    count(1, 9),
    free="9.2 (3.3.3) and 10.2 (2.4.3) allow them; the histogram gets longer, never shorter",
)
ONE_WORKLOAD: Final = Field(
    "Workload",
    kind=WORKLOAD,
    change=_with_workload,
    show=lambda conditions: workload_word(conditions.workload),
)
SKIPPED_BLOCK_SIZES: Final = Field("Block sizes left out (sector size)", free="the other block sizes say it")
IMPOSSIBLE: Final = Field("Left out (sector size)")
UNTIL_RSE: Final = Field(
    "Passes added until their RSE is at most (%)",
    "Add passes, two at a time, until their relative standard error is at most this; 0 adds none, and the "
    f"report judges by {RSE_LIMIT_PCT:g}.",
    percent(ge=0, le=100),
    name="until_rse",
    text=lambda pct: f"passes added until their RSE is {pct:g} %" if pct else "no passes added",
)
MOST_PASSES: Final = Field(
    "Passes at most, before they are discarded",
    "Discard so many passes with a larger relative standard error; an odd number.",
    count(ADVISED_RUNS, 99),
    text="{} passes at most",
)


def even_most(name: str, most: int, what: str) -> Contradictions:
    """An even number of passes or runs at most: the median of so many is none of them."""
    if most % 2 == 0:
        yield (name,), f"{most} is even: use an odd number, of which the median is a {what}"


def only_in_the_short_form(given: Collection[str], within_pct: float | None) -> Contradictions:
    """What is of use to the short form alone."""
    for name in ("flash_holds", "only_short"):
        if name in given and within_pct is None:
            yield (name, "short"), "does nothing without --short"

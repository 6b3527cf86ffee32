"""Words of the reports on tests of rounds: header fields, red lines, records."""

from collections.abc import Sequence

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.procedures.kit.header import (
    Rows,
    data_text,
    demand_text,
    precondition_amount,
    setup_rows,
    stimulus_rows,
)
from openpts.record.reader import Run
from openpts.units import format_block_size, format_duration
from openpts.vocabulary.verdict import RoundPoint
from openpts_pages.measure import Measured
from openpts_pages.model import Verdict
from openpts_pts.shared.rounds.results import RoundTestResults
from openpts_pts.shared.steady_state_pages import HasWindow, rounds_reason


def summary_state(results: HasWindow) -> str:
    """The cover's field Steady State."""
    rounds = results.window.rounds
    if results.steady:
        return f"reached in Round {rounds[-1]}"
    return "not reached" if results.window.is_full else f"n/a ({len(rounds)} of {WINDOW_ROUNDS} rounds)"


def not_steady(results: HasWindow) -> str:
    """The note of figures that are not of steady state; empty if it was reached."""
    return "" if results.steady else f"Steady State {summary_state(results)}"


def red_lines(results: HasWindow) -> tuple[str, ...]:
    """What all pages of the test say in red."""
    if not results.window.is_full:
        return (f"STEADY STATE NOT REACHED - {rounds_reason(results)} completed",)
    return () if results.steady else ("STEADY STATE NOT REACHED - last five Rounds shown",)


def short_form_words(results: RoundTestResults, measures: Sequence[Measured]) -> tuple[Verdict, ...]:
    """What the short form knows less of: key values not as well as was asked for, and all other cells."""
    within_pct = results.conditions.within_pct
    if within_pct is None or all(cell.state is None for cell in results.cells.values()):
        return ()
    shares_pct = {
        one.label: 100 * one.uncertainty.expanded / one.cell.value
        for one in measures
        if one.cell.value and one.uncertainty and one.uncertainty.expanded
    }
    others = (
        "Short form: cells of neither key values nor tracking variables are of elements of "
        f"{format_duration(results.conditions.minute_ns)}, too short for many loads, and have no interval."
    )
    return (
        *(
            Verdict(f"{label}: known within {pct:.2g} % at 95 %, and {within_pct:g} % were asked for.")
            for label, pct in shares_pct.items()
            if pct > within_pct
        ),
        Verdict(others),
    )


def demand(results: RoundTestResults) -> str:
    """The header's fields TOIO - TC/QD."""
    return f"TC {results.conditions.tc} / QD {results.conditions.qd}"


def loop_setup_rows(
    run: Run, results: RoundTestResults, loop: str, *, first: str = "", cycle: int = 1
) -> Rows:
    """The ten set-up rows of a header whose second preconditioning is the test's own ``loop``.

    ``first`` is what preconditioning wrote, by default in the block size of the conditions.
    """
    conditions = results.conditions
    tc, qd = conditions.precondition_tc or conditions.tc, conditions.precondition_qd or conditions.qd
    first = first or f"SEQ {format_block_size(conditions.precondition_block_size_bytes)}"
    return setup_rows(
        run,
        ("Pre Condition 1", f"{first} W"),
        ("TOIO - TC/QD", demand_text(tc, qd)),
        ("Duration", precondition_amount(run, cycle)),
        ("Pre Condition 2", loop),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("SS Rounds", results.window.label if results.steady else f"{results.window.label}, not steady"),
    )


def steady_rounds(results: HasWindow) -> str:
    """The header's field Steady State."""
    return results.window.label if results.steady else "NOT REACHED"


def loop_test_rows(run: Run, results: RoundTestResults, *loop: str, second: str = "-") -> Rows:
    """The ten test rows: the ``loop`` with its mixes and block sizes, and a ``second`` stimulus, if any."""
    name, mixes, sizes = loop if len(loop) > 1 else (*loop, "Outer Loop", "Inner Loop")
    return stimulus_rows(
        run,
        ("Test Stimulus 1", name),
        ("RW Mix", mixes),
        ("Block Sizes", sizes),
        ("TOIO - TC/QD", demand(results)),
        ("Steady State", steady_rounds(results)),
        ("Test Stimulus 2", second),
        ("TOIO - TC/QD", "-" if second == "-" else demand(results)),
        ("Steady State", "-" if second == "-" else "N/A"),
    )


def short_name(point: RoundPoint) -> str:
    """As the specification's titles have it: ``RND/4KiB RW0``."""
    size = format_block_size(point.block_size_bytes).replace(" ", "")
    return f"{point.access_pattern.short}/{size} RW{point.read_pct}"


def verification_record(results: RoundTestResults, clause: str) -> str:
    """The conditions below the determination data."""
    conditions = results.conditions
    return (
        f"ActiveRange = ({conditions.active_range.start_pct:g},{conditions.active_range.end_pct:g}); "
        f"OIO/Thread = {conditions.qd}; Thread Count = {conditions.tc}; "
        f"Data Pattern = {data_text(conditions)} [{clause}]."
    )

"""Deviations of the real-world storage workload: what is not checked, and what was not steady."""

from collections.abc import Iterator
from typing import Final

from openpts.record.reader import Run
from openpts.vocabulary.deviation import Deviation
from openpts_traces.captured.ledger import CLAUSE, unchecked
from openpts_traces.rws import PART_TITLES, RwsPart
from openpts_traces.rws.results import RwsRun, rws_run

_OF_PART: Final = {
    RwsPart.INDIVIDUAL: ("RWS-IS-01", "each stream alone"),
    RwsPart.MULTI: ("RWS-MW-01", "all streams as one composite"),
    RwsPart.REPLAY_NATIVE: ("RWS-RN-01", "steps in order, each with its own streams and queue depth"),
}


def findings(run: Run) -> tuple[Deviation, ...]:
    """An entry for each requirement used that was not checked against SNIA's text, and for unsteady parts."""
    found = rws_run(run)
    used = (_OF_PART[part] for part in found.conditions.parts)
    return (*unchecked(used), *_of_streams(found), *_unsteady(found))


def _of_streams(found: RwsRun) -> Iterator[Deviation]:
    capture, conditions = found.capture, found.conditions
    if RwsPart.MULTI in conditions.parts and conditions.toio < len(capture.streams):
        yield Deviation(
            "RWS-MW-02",
            CLAUSE,
            f"{conditions.toio} outstanding",
            f"{len(capture.streams)} outstanding, one of each stream",
            "demand is higher than that of the capture",
        )
    if RwsPart.INDIVIDUAL in conditions.parts:
        used = "purge before each stream" if conditions.isolate else "no purge between streams"
        yield Deviation("RWS-IS-02", CLAUSE, "left open", used, "streams begin on the drive in that state")


def _unsteady(found: RwsRun) -> Iterator[Deviation]:
    parts = [(f"{one.stream.name} alone", one.tracked.results.steady) for one in found.alone]
    if found.multi is not None:
        parts.append((PART_TITLES[RwsPart.MULTI], found.multi.results.steady))
    if found.replay is not None:
        parts.append((PART_TITLES[RwsPart.REPLAY_NATIVE], found.replay.steady))
    for name, steady in parts:
        if not steady:
            most = found.conditions.max_rounds
            yield Deviation(
                "RWS-SS-03",
                CLAUSE,
                "steady state",
                f"{name}: not steady in {most} rounds",
                "results are not of steady state",
            )

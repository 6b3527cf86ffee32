"""Real-world storage workload of a capture (rws).

Purpose
    What a drive does with the workload of a system that was captured: how its streams fare alone and
    together, and what the drive makes of the course of the capture.
Clause
    None of the PTS. After the RWSW PTS of SNIA, reading of openpts: its tests are known by name and purpose.
Steps
    Each part begins with a purge and SEQ 128 KiB writes of 2 x user capacity.
    1. Individual Streams-WSAT: each stream of the applied test workload alone, in falling share of the I/Os,
       until single minutes are steady.
    2. Multi-WSAT: all of them at once in their shares, at the capture's mean queue depth, until steady.
    3. Replay-Native: the steps of the capture in order, each with its own streams and its own queue depth,
       in passes until average response time and throughput of a pass are steady.
Pass rule
    Steady state by definition 2.1.24: of IOPS, in replay-native of both figures.
Reported
    Streams with their shares and the cover; rates and response times of each stream alone and in the
    composite; each step of the capture beside the drive's.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.standard import Standard
from openpts.procedures.shared.rounds.script import rounds_until_steady
from openpts.procedures.shared.sequential_writes import written_in_sequence
from openpts.procedures.shared.tracking.script import Tracking, until_steady
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import CycleFinished, Outcome, Purge, Script, ScriptPart, SetWriteCache
from openpts.vocabulary.stimulus import Stream
from openpts_traces.characteristics.capture import Capture
from openpts_traces.rws import PART_TITLES, RwsConditions, RwsPart
from openpts_traces.rws.streams import PASS_FIGURES, alone, composite, pass_figures, replayed

_MINUTE_NS: Final = 60 * NS_PER_S


# Preparation and steady state as those of write saturation; the capture is the operator's.
standard_conditions: Final = Standard(
    RwsConditions,
    parts=(RwsPart.INDIVIDUAL, RwsPart.MULTI, RwsPart.REPLAY_NATIVE),
    pacing="depth",
    precondition_passes=2,
    precondition_block_size_bytes=128 * KIB,
    precondition_tc=1,
    precondition_qd=32,
    tracking_period_ns=30 * _MINUTE_NS,
    max_rounds=25,
)


def supported_on(conditions: RwsConditions, sector_bytes: int) -> RwsConditions:
    """Transfers are whole sectors."""
    return replace(conditions, sector_bytes=sector_bytes)


def script(conditions: RwsConditions, user_capacity_bytes: int) -> Script:
    """The parts in their order, each from a purge on."""
    capture = conditions.captured
    if capture is None:
        return
    for part, numbers in conditions.cycles():
        yield Purge()
        yield SetWriteCache(conditions.write_cache_enabled)
        yield from written_in_sequence(
            conditions,
            conditions.precondition_block_size_bytes,
            conditions.precondition_passes * user_capacity_bytes,
            tc=conditions.precondition_tc,
            qd=conditions.precondition_qd,
        )
        match part:
            case RwsPart.INDIVIDUAL:
                outcome = yield from _individual(conditions, capture, numbers)
            case RwsPart.MULTI:
                streams = composite(conditions, capture.streams, conditions.toio)
                outcome = yield from _tracked(conditions, streams, "composite IOPS", 0)
            case RwsPart.REPLAY_NATIVE:
                steps = tuple(replayed(conditions, capture, step) for step in capture.steps)
                outcome, _ = yield from rounds_until_steady(
                    conditions.max_rounds, steps, PASS_FIGURES, pass_figures
                )
        yield CycleFinished(outcome, PART_TITLES[part])


def _individual(conditions: RwsConditions, capture: Capture, numbers: Sequence[int]) -> ScriptPart[Outcome]:
    """Single streams; steady if each of them was."""
    outcomes = []
    for number in numbers:
        stream = alone(conditions, capture.streams[number], conditions.toio)
        outcome = yield from _tracked(
            conditions, (stream,), f"{stream.name} IOPS", number * conditions.max_rounds
        )
        outcomes.append(outcome)
    last = outcomes[-1]
    steady = all(outcome.steady_round is not None for outcome in outcomes)
    return Outcome(last.steady_round if steady else None, last.last_round)


def _tracked(
    conditions: RwsConditions, streams: tuple[Stream, ...], name: str, before: int
) -> ScriptPart[Outcome]:
    steady_round, last_round = yield from until_steady(
        Tracking(
            phase=Phase.SATURATION,
            streams=streams,
            name=name,
            minute_ns=conditions.minute_ns,
            period_ns=conditions.tracking_period_ns,
            max_rounds=conditions.max_rounds,
            before=before,
        )
    )
    return Outcome(steady_round, last_round)

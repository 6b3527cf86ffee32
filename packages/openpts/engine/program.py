"""Steps as the native engine reads them: bytes instead of per cent, JSON with a name for each variant."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET

from openpts.errors import UsageError
from openpts.trace_schedules import file_of
from openpts.vocabulary.data import DataPattern, PatternData, ReducibleData, VerifiedData
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.placement import Normal, Pareto, Placement, Segments, UniqueLbas, Zipf, Zones
from openpts.vocabulary.stimulus import ClosedLoop, IoPriority, Pacing, PriorityClass, Step, Stimulus, Stream
from openpts.vocabulary.stop import ByteAmount, DriveFills, Duration, FirstOf, IoCount, Steady, StopRule


def active_bytes(stimulus: Stimulus, target: TargetFacts) -> tuple[int, int]:
    """First byte, and the byte after the last (PTS 2.1.1). Raises UsageError for a range that is none."""
    active = stimulus.active_range
    if not 0 <= active.start_pct < active.end_pct <= 100:
        raise UsageError(
            f"active range {active.start_pct:g}:{active.end_pct:g} is not within 0:100 per cent of the LBAs"
        )
    return active.bytes_of(target.user_capacity_bytes, target.sector_bytes)


Json = dict[str, object]
Translated = TypeVar("Translated")


def program_json(steps: Sequence[Step], target: TargetFacts) -> str:
    """The program of these steps on that target. Raises UsageError for an active range that is none."""
    return msgspec.json.encode(each_step(steps, lambda step: _step(step, target))).decode()


def each_step(steps: Sequence[Step], translate: Callable[[Step], Translated]) -> list[Translated]:
    """Every step in an engine's own words. Raises UsageError that names the step which has none."""
    translated = []
    for position, step in enumerate(steps, start=1):
        try:
            translated.append(translate(step))
        except UsageError as error:
            raise UsageError(f"step {position}: {error}") from error
    return translated


def _step(step: Step, target: TargetFacts) -> Json:
    stop = _rules(step.stop, target)
    if isinstance(step.stop, FirstOf):
        stop["at_least_ns"] = step.stop.at_least_ns
    streams = [_stream(stream, target) for stream in step.streams]
    return {"streams": streams, "stop": stop, "ramp_ns": step.ramp_ns, "capture": step.capture}


def _stream(stream: Stream, target: TargetFacts) -> Json:
    if isinstance(stream.stop, Steady) or (isinstance(stream.stop, FirstOf) and stream.stop.at_least_ns):
        raise UsageError("a stream ends by time, bytes or I/Os of its own: steady state ends a step")
    replay = stream.replay
    return {
        "stimulus": _stimulus(stream.stimulus, target),
        "delay_ns": stream.delay_ns,
        "bounds": {} if stream.stop is None else _rules(stream.stop, target),
        "priority": 0 if stream.priority is None else _ioprio(stream.priority),
        "share": stream.share,
        "replay": None
        if replay is None
        else {"path": str(file_of(replay.schedule)), "mode": replay.mode, "conflicts": replay.conflicts},
    }


# linux/ioprio.h
_CLASS_SHIFT: Final = 13
IOPRIO_CLASSES: Final = {PriorityClass.REALTIME: 1, PriorityClass.BEST_EFFORT: 2, PriorityClass.IDLE: 3}


def _ioprio(priority: IoPriority) -> int:
    return IOPRIO_CLASSES[priority.priority_class] << _CLASS_SHIFT | priority.level


def _rules(stop: StopRule, target: TargetFacts) -> Json:
    found: Json = {}
    for rule in stop.rules if isinstance(stop, FirstOf) else (stop,):
        found |= _stop_rule(rule, target.user_capacity_bytes)
    return found


def _stimulus(stimulus: Stimulus, target: TargetFacts) -> Json:
    start, end = active_bytes(stimulus, target)
    return {
        "block_sizes": [
            {"bytes": size.block_size_bytes, "weight": size.weight} for size in stimulus.block_sizes
        ],
        "operations": stimulus.operations,
        "random_pct": stimulus.random_pct,
        "range_start_bytes": start,
        "range_end_bytes": end,
        "placement": _placement(stimulus.placement),
        "alignment_bytes": stimulus.alignment_bytes,
        "stride_bytes": stimulus.stride_bytes,
        "tc": stimulus.tc,
        "qd": stimulus.qd,
        "pacing": _pacing(stimulus.pacing),
        "data": _data(stimulus.data),
    } | ({} if stimulus.placement_handle is UNSET else {"placement_handle": stimulus.placement_handle})


def _stop_rule(rule: StopRule, user_capacity_bytes: int) -> Json:
    match rule:
        case Duration(duration_ns):
            return {"duration_ns": duration_ns}
        case ByteAmount(amount_bytes):
            return {"amount_bytes": amount_bytes}
        case DriveFills(fills):
            return {"amount_bytes": round(fills * user_capacity_bytes)}
        case IoCount(ios):
            return {"ios": ios}
        case Steady():
            return {"steady": _fields(rule)}
        case FirstOf():
            raise TypeError("rules do not nest")


def _placement(placement: Placement) -> Json | str:
    match placement:
        case Zones(zones):
            return {"zones": [{"weight": zone.weight, "range_pct": zone.range_pct} for zone in zones]}
        case Segments(count, segment_bytes):
            return {"segments": {"count": count, "bytes": segment_bytes}}
        case UniqueLbas(amount_bytes):
            return {"unique_lbas": {"bytes": amount_bytes}}
        case Zipf() | Pareto() | Normal():
            return _variant(placement)
        case _:
            return "uniform"


def _pacing(pacing: Pacing) -> Json | str:
    match pacing:
        case ClosedLoop():
            return "closed_loop"
        case _:
            return _variant(pacing)


def _data(data: DataPattern) -> Json | str:
    match data:
        case PatternData(pattern):
            return {"pattern": list(pattern)}
        case ReducibleData() | VerifiedData():
            return _variant(data)
        case _:
            return _tag(data)


def _variant(struct: msgspec.Struct) -> Json:
    return {_tag(struct): _fields(struct)}


def _tag(struct: msgspec.Struct) -> str:
    return str(struct.__struct_config__.tag)


def _fields(struct: msgspec.Struct) -> Json:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}

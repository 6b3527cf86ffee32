"""How far a step is and how long it will still take, as far as its stop rule lets one say."""

from dataclasses import dataclass

from openpts.units import NS_PER_S
from openpts.vocabulary.stop import ByteAmount, DriveFills, Duration, FirstOf, IoCount, Steady, StopRule


@dataclass(frozen=True, slots=True)
class StepCounts:
    """What a step has done since its ramp; ``elapsed_ns`` is below 0 in the ramp. Rates are those of now."""

    elapsed_ns: int
    ios: int
    bytes: int
    ios_per_s: float
    bytes_per_s: float


def done_fraction(stop: StopRule, done: StepCounts, capacity_bytes: int) -> float | None:
    """Share of the step that is done, 0 to 1; None where its end can't be foreseen."""
    fraction: float | None
    match stop:
        case Duration(duration_ns):
            fraction = _share(done.elapsed_ns, duration_ns)
        case ByteAmount(amount_bytes):
            fraction = _share(done.bytes, amount_bytes)
        case DriveFills(fills):
            fraction = _share(done.bytes, fills * capacity_bytes)
        case IoCount(ios):
            fraction = _share(done.ios, ios)
        case Steady():
            fraction = None
        case FirstOf(rules, at_least_ns):
            known = [done_fraction(rule, done, capacity_bytes) for rule in rules]
            fraction = max((share for share in known if share is not None), default=None)
            if fraction is not None and at_least_ns:
                fraction = min(fraction, _share(done.elapsed_ns, at_least_ns))
    return fraction


def longest_left_s(stop: StopRule, done: StepCounts, capacity_bytes: int) -> float | None:
    """Longest time that the step will still take at the rates of now; None where there is no bound."""
    left_s: float | None
    match stop:
        case Duration(duration_ns):
            left_s = max(0.0, (duration_ns - done.elapsed_ns) / NS_PER_S)
        case ByteAmount(amount_bytes):
            left_s = _amount_left_s(amount_bytes - done.bytes, done.bytes_per_s, done.elapsed_ns)
        case DriveFills(fills):
            left_s = _amount_left_s(fills * capacity_bytes - done.bytes, done.bytes_per_s, done.elapsed_ns)
        case IoCount(ios):
            left_s = _amount_left_s(ios - done.ios, done.ios_per_s, done.elapsed_ns)
        case Steady():
            left_s = None
        case FirstOf(rules, at_least_ns):
            known = [longest_left_s(rule, done, capacity_bytes) for rule in rules]
            left_s = min((time_s for time_s in known if time_s is not None), default=None)
            if left_s is not None:
                left_s = max(left_s, (at_least_ns - done.elapsed_ns) / NS_PER_S)
    return left_s


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 1.0


def _amount_left_s(left: float, per_s: float, elapsed_ns: int) -> float | None:
    if left <= 0:
        return 0.0
    ramp_left_s = max(0, -elapsed_ns) / NS_PER_S
    return ramp_left_s + left / per_s if per_s > 0 else None

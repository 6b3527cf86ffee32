"""What idle time before a measurement did: whether the drive had come to rest, judged again on the record."""

from openpts.analysis.settling import judge, look_of
from openpts.pages.model import Verdict
from openpts.record.reader import Run
from openpts.units import format_duration
from openpts.vocabulary.part import Part
from openpts.vocabulary.settling import SettlingRule


# SOL-DEV-04
def settling_verdicts(run: Run, number: int, rule: SettlingRule | None) -> tuple[Verdict, ...]:
    """One sentence of the rest with that number; none without a rule, or where it was not made."""
    samples = [step.sample for step in run.part(Part.REST, number=number)]
    readings = [one.reading for one in run.health if (one.part, one.number) == (Part.REST, number)]
    if rule is None or not samples:
        return ()
    idle_ns, looks = 0, []
    # idle time and a look in turns; what was cut short has no reading
    for idle, probe, reading in zip(samples[::2], samples[1::2], readings, strict=False):
        idle_ns += idle.elapsed_ns
        looks.append(look_of(idle_ns, probe, reading))
    verdict = judge(looks, rule)
    waited = f"Left alone for {format_duration(idle_ns)} before the first row"
    if verdict.settled:
        return (Verdict(f"{waited}: the last {rule.looks} looks hardly differ, the drive had settled."),)
    return (Verdict(f"{waited}, and NOT settled: {verdict.restless}.", "fail"),)

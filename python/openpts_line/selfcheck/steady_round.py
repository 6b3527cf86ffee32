"""A whole run on a drive whose rounds are known, and its report, derived a second time."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.procedures.pts.iops import IopsConditions
from openpts.procedures.registry import PTS
from openpts.record.reader import Run
from openpts.report.checksums import file_faults
from openpts.report.rederive import differences, read_report
from openpts.report.sources import ReportSource, read_for_report
from openpts.report.summary import summarize
from openpts.report.write import ReportOptions, write_report
from openpts.runner.order import Adjust, Order
from openpts.runner.run import run_test
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.people import People
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint, TrackingVariable
from openpts_line.selfcheck.captured import SEED
from openpts_line.selfcheck.finding import Expectations, Finding

_HERE: Final = Path(__file__).parent
_BYTES: Final = 4 * KIB
_POINT: Final = RoundPoint(AccessPattern.RANDOM, _BYTES, 0)
_STEADY_ROUND: Final = 10
_TOLERANCE: Final = 1e-6


def scripted(name: str) -> str:
    """The target of a drive whose script is beside this module."""
    return f"sim:{_HERE / name}"


def carried_out(test: str, target: str, folder: Path, adjust: Adjust) -> Run:
    """The run of a test on a simulated drive, from its record in ``folder``."""
    order = Order(
        target=target,
        drive_class=DriveClass.ENTERPRISE,
        adjust=adjust,
        consent=Consent(),
        purge_choice=PurgeChoice.AUTO,
        people=People(),
        command_line=("self-check",),
        folder=folder,
        seed=SEED,
    )
    return read_for_report(run_test(PTS[test], order, []).folder)


def check(folder: Path) -> Finding:
    """A whole run, whose rounds are known: its steady round, window, mean and fit; its report, derived twice.

    Writes a run folder and a report.
    """
    run = carried_out("iops", scripted("settling.toml"), folder / "run", _one_point)
    rates = [100 + Fraction(200, 2**number) for number in range(_STEADY_ROUND)]
    steady = summarize(run)["steady_state"]
    found = Expectations()
    found.equal("steady round", (steady["reached"], steady["round"]), (True, _STEADY_ROUND))
    found.equal("window", list(steady["window"]), list(range(_STEADY_ROUND - 4, _STEADY_ROUND + 1)))
    measured = [step.sample.iops for step in run.phase(Phase.ROUND)]
    found.equal("rounds", len(measured), _STEADY_ROUND)
    for number, (value, rate) in enumerate(zip(measured, rates, strict=False), start=1):
        found.near(f"IOPS of round {number}", value, float(rate), _TOLERANCE * float(rate))
    (variable,) = steady["variables"]
    for name, wanted in _window_of(rates[-5:]).items():
        found.near(f"{name} of the window", variable[name], wanted, 100 * _TOLERANCE * abs(wanted))
    source = ReportSource.of([folder / "run"])
    written = write_report(source, options=ReportOptions(html=False, pdf=False))
    stored = read_report(written.json)
    again, record = differences(stored, source)
    found.equal("places of the report that differ from its record", [one.place for one in again], [])
    found.equal("files that don't match their checksums", file_faults(written.json, stored, record), [])
    text = f"a run on a drive that is steady in round {_STEADY_ROUND}; its report derived twice"
    return found.finding("steady state", text, {"average_iops": variable["average"]})


def _one_point(conditions: Conditions) -> Conditions:
    if not isinstance(conditions, IopsConditions):
        raise TypeError(type(conditions))
    return replace(
        conditions,
        read_pcts=(_POINT.read_pct,),
        block_sizes_bytes=(_POINT.block_size_bytes,),
        tracking=(TrackingVariable(_POINT.access_pattern, _BYTES, _POINT.read_pct),),
        minute_ns=60 * NS_PER_S,
        precondition_block_size_bytes=128 * KIB,
    )


def _window_of(rates: Sequence[Fraction]) -> dict[str, float]:
    """Average, range and best linear fit of five rounds, in exact arithmetic."""
    average = sum(rates) / 5
    slope = sum(((place - 2) * rate for place, rate in enumerate(rates)), Fraction(0)) / 10
    return {
        "average": float(average),
        "range_pct": float(100 * (max(rates) - min(rates)) / average),
        "slope": float(slope),
        "slope_excursion_pct": float(100 * abs(slope) * 4 / average),
    }

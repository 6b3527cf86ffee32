"""Two runs of a test in different places: E_n of each key value, and what in their conditions may explain it.

E_n is the difference over the uncertainty of the difference (ISO 13528:2022, 9.7): at most 1, if both
uncertainties are right, in 95 % of all cases.
"""

import math
from collections.abc import Iterator, Mapping
from enum import StrEnum
from statistics import NormalDist
from typing import Final

from msgspec import Struct

from openpts.advice.table import ADVICE
from openpts.record.manifest import Manifest, RunState
from openpts.report.condition_rows import condition_rows
from openpts.runs.measured_run import NO_CONDITION
from openpts.units import format_count
from openpts.vocabulary.document import Document
from openpts.vocabulary.uncertainty import CONFIDENCE
from openpts_line.compare.conditions import Field, shared_fields
from openpts_line.replicate.measured_conditions import CLOCK, CLOCK_BOUND, MEASURED
from openpts_line.replicate.passport import KeyValue, Passport

_NORMAL: Final = NormalDist()
_OTHER_DRIVE: Final = "another kind of drive"
_OTHER_WORK: Final = "the drive was given other work"
_HOST_SHARE: Final = "the host's share of each I/O"
_EFFECTS: Final = {
    "Model": _OTHER_DRIVE,
    "User capacity": _OTHER_DRIVE,
    "NAND type": _OTHER_DRIVE,
    "Firmware": "firmware decides how a drive collects and caches",
    "Purge method": "what was on the drive before the test",
    "Write cache": "writes are answered before they are on the flash, or after",
    "Class": _OTHER_WORK,
    "Shortened": _OTHER_WORK,
    "Sector size": _OTHER_WORK,
    "Kind of target": "other layers between engine and drive",
    "File system": "other layers between engine and drive",
    "PCIe": "the link bounds rates",
    "HBA": "another controller between host and drive",
    "Scenario": "the host was set up for something else",
    "Host: CPU": _HOST_SHARE,
    "Engine: engine": _HOST_SHARE,
    "Engine: io path": _HOST_SHARE,
    "Engine: completion wait": _HOST_SHARE,
    "Engine: clock": "times by another clock",
    **{f"Setting: {one.title}": one.reason for one in ADVICE},
}
"""Of conditions that are known to bear on figures: what they do."""


class Agreement(StrEnum):
    """What a replication shows, as a whole or of a key value."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NO_VERDICT = "no verdict"


class Difference(Struct, frozen=True):
    """A condition in which the runs differ; ``effect`` is empty where it is not known to bear on figures."""

    condition: str
    passport: str
    run: str
    effect: str


class Replicated(Struct, frozen=True, kw_only=True):
    """A key value in both runs, with its expanded uncertainties at 95 %, and E_n.

    ``reason`` says why there is no E_n. ``causes`` are conditions that differ and may explain one above 1.
    """

    key: str
    unit: str
    passport: float | None
    passport_expanded: float | None
    run: float | None
    run_expanded: float | None
    e_n: float | None
    agreement: Agreement
    reason: str
    causes: tuple[str, ...]


class Replication(Document, frozen=True, kw_only=True, tag="openpts.replication/1"):
    """A run held against a passport, as a whole and by key value; ``differences`` are those in conditions.

    The runs differ where one of all E_n is above ``e_n_limit``: of so many, chance puts one above 1 more often
    than one alone. ``conditions_known`` is False for a passport that has none.
    """

    test: str
    passport: str
    run: str
    verdict: Agreement
    statement: str
    e_n_limit: float
    conditions_known: bool
    differences: tuple[Difference, ...]
    key_values: tuple[Replicated, ...]


def e_n(value: float, expanded: float, reference: float, reference_expanded: float) -> float | None:
    """E_n of a value; None where neither has an uncertainty above 0, and they are not the same."""
    of_both = math.hypot(expanded, reference_expanded)
    if not of_both:
        return 0.0 if value == reference else None
    return (value - reference) / of_both


def e_n_limit(count: int) -> float:
    """What the largest of so many E_n exceeds by chance in 5 % of all cases, or more seldom (Bonferroni)."""
    share = (1 - CONFIDENCE) / 2
    return _NORMAL.inv_cdf(1 - share / max(1, count)) / _NORMAL.inv_cdf(1 - share)


def replicated(passport: Passport, run: Passport) -> Replication:
    """A run held against a passport of the same test."""
    differences = tuple(_differences(passport, run))
    causes = tuple(one.condition for one in differences if one.effect)
    values = tuple(
        _replicated(key, passport.key_values[key], own, causes)
        for key, own in run.key_values.items()
        if key in passport.key_values
    )
    found = [abs(one.e_n) for one in values if one.e_n is not None]
    limit = e_n_limit(len(found))
    verdict, statement = _verdict(passport, run, values, found, limit)
    if verdict is Agreement.DIFFERS:
        statement += f": {'; '.join(causes)}" if causes else _unexplained(passport)
    return Replication(
        test=run.test,
        passport=passport.name,
        run=run.name,
        verdict=verdict,
        statement=statement,
        e_n_limit=limit,
        conditions_known=passport.manifest is not None,
        differences=differences,
        key_values=values,
    )


def _verdict(
    passport: Passport, run: Passport, values: tuple[Replicated, ...], found: list[float], limit: float
) -> tuple[Agreement, str]:
    for one in (passport, run):
        if one.state is not RunState.COMPLETE:
            return Agreement.NO_VERDICT, f"the run of {one.name} is not complete, but {one.state}"
    if not found:
        reason = next((one.reason for one in values), "the runs have no key value in common")
        return Agreement.NO_VERDICT, reason
    above = sum(value > 1 for value in found)
    of = f"of {format_count(len(found), 'key value')}"
    if max(found) > limit:
        return Agreement.DIFFERS, f"{above} {of} differ by more than both uncertainties"
    if above:
        return Agreement.AGREES, (
            f"{above} {of} differ by more than both uncertainties, none by more than chance shows in so many "
            f"(|E_n| up to {limit:.2f})"
        )
    return Agreement.AGREES, f"all {of} agree within both uncertainties"


def _unexplained(passport: Passport) -> str:
    known = passport.manifest is not None
    return (
        ": no condition on record explains it" if known else ": the passport has no conditions to explain it"
    )


def _replicated(key: str, reference: KeyValue, own: KeyValue, causes: tuple[str, ...]) -> Replicated:
    reason, found = "", None
    values = (own.value, own.expanded_uncertainty, reference.value, reference.expanded_uncertainty)
    if own.unit != reference.unit:
        reason = f"the units differ: {reference.unit}, {own.unit}"
    elif own.value is None or reference.value is None:
        reason = "not measured in both runs"
    elif own.expanded_uncertainty is None or reference.expanded_uncertainty is None:
        reason = "no uncertainty is stated in both runs"
    else:
        found = e_n(own.value, own.expanded_uncertainty, reference.value, reference.expanded_uncertainty)
        reason = "" if found is not None else "values differ, and neither run shows any scatter"
    agreement = Agreement.NO_VERDICT
    if found is not None:
        agreement = Agreement.DIFFERS if abs(found) > 1 else Agreement.AGREES
    return Replicated(
        key=key,
        unit=own.unit,
        run=values[0],
        run_expanded=values[1],
        passport=values[2],
        passport_expanded=values[3],
        e_n=found,
        agreement=agreement,
        reason=reason,
        causes=causes if agreement is Agreement.DIFFERS else (),
    )


def _differences(passport: Passport, run: Passport) -> Iterator[Difference]:
    """The likeliest causes first: other work, what was measured, then settings, in the order of compare."""
    if passport.manifest is None or run.manifest is None:
        return
    one, other = (_stimulus(each.manifest) for each in (passport, run) if each.manifest is not None)
    for name, (label, text) in (one | other).items():
        texts = tuple(side[name][1] if name in side else "not set" for side in (one, other))
        if texts[0] != texts[1]:
            yield Difference(label, *texts, _OTHER_WORK)
    yield from _measured(passport.measured, run.measured)
    fields = shared_fields([[passport.manifest], [run.manifest]])
    found = [
        Difference(one.label, *map(_text, one.values), _EFFECTS.get(one.label, ""))
        for one in fields
        if _differs(one)
    ]
    yield from sorted(found, key=lambda each: not each.effect)


def _stimulus(manifest: Manifest) -> Mapping[str, tuple[str, str]]:
    rows = condition_rows(manifest.conditions)
    return {name: (label, text) for name, label, text in rows if name not in NO_CONDITION}


def _differs(field: Field) -> bool:
    """In a comparison of labs a drive of another kind is a difference, too."""
    return field.differs or (_EFFECTS.get(field.label) == _OTHER_DRIVE and field.values[0] != field.values[1])


def _text(texts: tuple[str, ...]) -> str:
    return " | ".join(texts)


def _measured(passport: Mapping[str, float], run: Mapping[str, float]) -> Iterator[Difference]:
    for key, of in MEASURED.items():
        if key not in passport or key not in run:
            continue
        least = of.least
        if key == CLOCK:
            least += math.hypot(passport.get(CLOCK_BOUND, math.inf), run.get(CLOCK_BOUND, math.inf))
        if abs(passport[key] - run[key]) > least:
            texts = (f"{side[key]:,.4g} {of.unit}".rstrip() for side in (passport, run))
            yield Difference(of.label, *texts, of.effect)

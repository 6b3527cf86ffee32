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
from openpts.pages.texts import NOT_REPORTED
from openpts.record.manifest import Manifest, RunState
from openpts.report.condition_rows import condition_rows
from openpts.runs.measured_run import NO_CONDITION
from openpts.units import format_count
from openpts.vocabulary.document import Document
from openpts.vocabulary.uncertainty import CONFIDENCE
from openpts_line.compare.conditions import shared_fields
from openpts_line.replicate.measured_conditions import CLOCK, CLOCK_BOUND, MEASURED
from openpts_line.replicate.passport import KeyValue, Passport

_NORMAL: Final = NormalDist()
_NOT_SET: Final = "not set"
_OTHER_DRIVE: Final = "another kind of drive"
_OTHER_WORK: Final = "the drive was given other work"
_EFFECTS: Final = {
    **dict.fromkeys(("Model", "User capacity", "NAND type"), _OTHER_DRIVE),
    "Firmware": "firmware decides how a drive collects and caches",
    "Purge method": "what was on the drive before the test",
    "Write cache": "writes are answered before they are on the flash, or after",
    **dict.fromkeys(("Class", "Shortened", "Sector size"), _OTHER_WORK),
    **dict.fromkeys(("Kind of target", "File system", "HBA"), "other layers between engine and drive"),
    "PCIe": "the link bounds rates",
    "Scenario": "the host was set up for something else",
    **dict.fromkeys(
        ("Host: CPU", *(f"Engine: {key}" for key in ("engine", "io path", "completion wait", "clock"))),
        "the host's share of each I/O",
    ),
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
    """A key value in both runs. ``reason`` says why there is no E_n.

    ``causes`` are conditions that differ and may explain one above 1.
    """

    key: str
    passport: KeyValue
    run: KeyValue
    e_n: float | None
    agreement: Agreement
    reason: str
    causes: tuple[str, ...]


class Replication(Document, frozen=True, kw_only=True, tag="openpts.replication/1"):
    """A run held against a passport, as a whole and by key value; ``differences`` are those in conditions.

    The runs differ where one of all E_n is above ``e_n_limit``, which grows with their number.
    ``conditions_known`` is False for a passport that has none.
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


def e_n(own: KeyValue, reference: KeyValue) -> tuple[float | None, str]:
    """E_n of a value, or why there is none."""
    values = (own.value, own.expanded_uncertainty, reference.value, reference.expanded_uncertainty)
    if own.unit != reference.unit:
        return None, f"the units differ: {reference.unit}, {own.unit}"
    if None in values[::2]:
        return None, "one of the runs has no value"
    if None in values:
        return None, "one of the runs states no uncertainty"
    value, expanded, other, expanded_other = (found or 0.0 for found in values)
    if of_both := math.hypot(expanded, expanded_other):
        return (value - other) / of_both, ""
    return (0.0, "") if value == other else (None, "values differ, and neither run shows any scatter")


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
    limit = e_n_limit(sum(one.e_n is not None for one in values))
    verdict, statement = _verdict(passport, run, values, limit)
    known = passport.manifest is not None
    if verdict is Agreement.DIFFERS:
        unexplained = "no condition on record explains it" if known else "the passport has no conditions"
        statement += f": {'; '.join(causes) or unexplained}"
    return Replication(
        test=run.test,
        passport=passport.name,
        run=run.name,
        verdict=verdict,
        statement=statement,
        e_n_limit=limit,
        conditions_known=known,
        differences=differences,
        key_values=values,
    )


def _verdict(
    passport: Passport, run: Passport, values: tuple[Replicated, ...], limit: float
) -> tuple[Agreement, str]:
    for one in (passport, run):
        if one.state is not RunState.COMPLETE:
            return Agreement.NO_VERDICT, f"the run of {one.name} is not complete, but {one.state}"
    found = [abs(one.e_n) for one in values if one.e_n is not None]
    if not found:
        return Agreement.NO_VERDICT, next(
            (one.reason for one in values), "the runs have no key value in common"
        )
    count = format_count(len(found), "key value")
    if not (above := sum(value > 1 for value in found)):
        return Agreement.AGREES, f"{count} within both uncertainties"
    words = f"{above} of {count} farther apart than both uncertainties"
    if max(found) > limit:
        return Agreement.DIFFERS, words
    return Agreement.AGREES, f"{words}, as chance shows in so many (E_n up to {limit:.2f})"


def _replicated(key: str, reference: KeyValue, own: KeyValue, causes: tuple[str, ...]) -> Replicated:
    found, reason = e_n(own, reference)
    agreement = Agreement.NO_VERDICT
    if found is not None:
        agreement = Agreement.DIFFERS if abs(found) > 1 else Agreement.AGREES
    causes = causes if agreement is Agreement.DIFFERS else ()
    return Replicated(
        key=key, passport=reference, run=own, e_n=found, agreement=agreement, reason=reason, causes=causes
    )


def _differences(passport: Passport, run: Passport) -> Iterator[Difference]:
    """The likeliest causes first: other work, what was measured, then settings, in the order of compare."""
    manifests = [one for one in (passport.manifest, run.manifest) if one is not None]
    if len(manifests) < 2:
        return
    one, other = map(_stimulus, manifests)
    for name in one | other:
        theirs, ours = (side.get(name, ("", _NOT_SET))[1] for side in (one, other))
        if theirs != ours:
            yield Difference((one | other)[name][0], theirs, ours, _OTHER_WORK)
    yield from _measured(passport.measured, run.measured)
    # of labs a drive of another kind is a difference, too; what one side does not know explains nothing
    found = [
        Difference(field.label, theirs, ours, "" if NOT_REPORTED in {theirs, ours} else effect)
        for field in shared_fields([[manifest] for manifest in manifests])
        for effect in [_EFFECTS.get(field.label, "")]
        for (theirs,), (ours,) in [field.values]
        if field.differs or (effect == _OTHER_DRIVE and theirs != ours)
    ]
    yield from sorted(found, key=lambda each: not each.effect)


def _stimulus(manifest: Manifest) -> dict[str, tuple[str, str]]:
    rows = condition_rows(manifest.conditions)
    return {name: (label, text) for name, label, text in rows if name not in NO_CONDITION}


def _measured(passport: Mapping[str, float], run: Mapping[str, float]) -> Iterator[Difference]:
    for key, of in MEASURED.items():
        if key not in passport or key not in run:
            continue
        least = of.least
        if key == CLOCK:
            least += math.hypot(passport.get(CLOCK_BOUND, math.inf), run.get(CLOCK_BOUND, math.inf))
        if abs(passport[key] - run[key]) > least:
            theirs, ours = (f"{side[key]:,.4g} {of.unit}".rstrip() for side in (passport, run))
            yield Difference(of.label, theirs, ours, of.effect)

"""What a population shows, in sentences."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from openpts.analysis.population import (
    CONFIDENCE,
    COVERED,
    confidence_between_ends,
    confidence_beyond_one_end,
    median_ranks,
    missed_share,
    share_bounds,
)
from openpts.pages import cells
from openpts.report.population.drives import ValueName
from openpts.report.population.findings import (
    FALSE_ALARM,
    GAP_ERROR,
    NamedDrive,
    PathEffect,
    PopulationFinding,
    ValueFinding,
)

RULE: Final = (
    "Outliers: a drive is named if its value is farther from the others than normal values would be "
    "(generalised ESD, Rosner 1983) and a gap lies between it and them (Renyi's spacings of an exponential "
    f"tail: {100 * GAP_ERROR:g} % for a value, for slow I/Os as rare as the first rule). Ratios count, "
    "of temperatures differences."
)
RATE: Final = (
    f"False alarms: of reports on drives that differ as normal values do, at most {100 * FALSE_ALARM:g} % "
    "name one drive or more in any value: the errors of all values add up to that (Bonferroni). Values with "
    f"long tails have more. Effects of a path: a further {100 * FALSE_ALARM:g} % of reports, by drawing at "
    "random how drives were dealt out (Westfall and Young)."
)
OF_THE_LOT: Final = (
    "All this holds for the population that the drives were drawn from: one lot tells of that lot."
)
SWAP: Final = (
    "A drive and its slot can't be told apart by a single run. Swap the named drive with another one and "
    "test both again: what moves with the drive is the drive's."
)


def number(value: float) -> str:
    """Four significant digits and more, as the value's size asks for."""
    size = abs(value)
    return cells.fixed(value, 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 10 else 4)


def off_text(name: ValueName, off: float) -> str:
    """``-5.2 %`` or ``+3.1 K``."""
    return f"{cells.signed(off, 1)} {'K' if name.linear else '%'}"


def chance_text(chance: float) -> str:
    """A probability in per cent, with two digits that count."""
    return f"{Decimal(f'{100 * chance:.1e}'):f} %" if chance >= 1e-6 else "below 0.0001 %"


def confidence_text(confidence: float) -> str:
    """In per cent; never 100."""
    return f"{100 * confidence:.1f} %" if confidence < 0.999 else "more than 99.9 %"


def named_line(finding: ValueFinding, one: NamedDrive) -> str:
    """``SN104: RND 4 KiB RW0 5,490 IOPS, -5.1 % off the median``."""
    of_path = f" of its {finding.within}" if finding.within else ""
    value = f"{number(one.value)} {finding.name.unit}".rstrip()
    off = off_text(finding.name, one.off)
    return f"{one.drive.name}: {finding.name.label} {value}, {off} off the median{of_path}"


def effect_line(effect: PathEffect) -> str:
    """``RND 4 KiB RW0 goes with host: h1 5,780 (12 drives), h2 5,200 (12 drives)``."""
    if effect.groups:
        groups = ", ".join(
            f"{group or 'none'} {number(middle)} ({count} {'drive' if count == 1 else 'drives'})"
            for group, count, middle in effect.groups
        )
        return f"{effect.name.title} goes with {effect.path}: medians {groups}"
    off = off_text(effect.name, effect.end_to_end or 0.0)
    thirds = f"the last third of the drives is {off} off the first third"
    return f"{effect.name.title} goes with {effect.path}: {thirds}"


def what_may_be_said(finding: PopulationFinding) -> Iterator[str]:
    """What so many drives tell of those that were not tested."""
    count = len(finding.population.drives)
    covered = f"{100 * COVERED:g} %"
    yield (
        f"With {count} drives, the smallest of a value is below {covered} of the population with "
        f"{confidence_text(confidence_beyond_one_end(count))} confidence, and so is the largest above; "
        f"between the two lie {covered} with {confidence_text(confidence_between_ends(count))} (Wilks; any "
        "distribution)."
    )
    ranks = median_ranks(count)
    if ranks is None:
        confidence_pct = f"{100 * CONFIDENCE:g} %"
        yield f"The population's median has no bounds with {confidence_pct} confidence: that takes 6 drives."
    else:
        rank, confidence = ranks
        which = (
            "the smallest and the largest"
            if rank == 1
            else f"number {rank} from below and number {rank} from above"
        )
        yield (
            f"The population's median lies between {which} of the {count} drives with "
            f"{100 * confidence:.1f} % confidence."
        )
    bad = len({one.drive.name for _, one in finding.named})
    if bad:
        low, high = share_bounds(bad, count)
        yield (
            f"{bad} of {count} drives are named: {100 * low:.1f} to {100 * high:.1f} % of the "
            f"population would be, with {100 * CONFIDENCE:g} % confidence (Clopper, Pearson)."
        )
    else:
        yield (
            f"No drive is named. Up to {100 * missed_share(count):.1f} % of the population may be such "
            f"drives and none of them among these {count} ({100 * CONFIDENCE:g} % confidence)."
        )


def repeat_line(finding: ValueFinding) -> str:
    """Whether drives differ by more than runs of one drive; empty where each has one run."""
    found = finding.repeats
    if found is None:
        return ""
    factor, unit = (1, "K") if finding.name.linear else (100, "%")
    between, within = f"{factor * found.between:.2g} {unit}", f"{factor * found.within:.2g} {unit}"
    text = f"{between} between drives, {within} between runs of a drive"
    if found.hides_drives:
        return f"{finding.name.label}: {text}: no larger, so that drives can't be told apart by one run"
    return f"{finding.name.label}: {text}"

"""What a population shows, in sentences."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from openpts.analysis.order_statistics import median_ranks
from openpts.pages import cells
from openpts_many.population.figures import Effect, NamedValue, TestFigures, ValueFigures
from openpts_many.population.findings import FALSE_ALARM, PATH_ALARM, SUSPICION
from openpts_many.population.outliers import FEWEST
from openpts_many.population.statistics import CONFIDENCE, COVERED, share_bounds

RULE: Final = (
    "A drive stands out if the gap between its value and those of the others is too wide for the spacings of "
    "the others (Renyi). Ratios count, of temperatures differences. Chance: of reports on ordinary drives so "
    "many, at most, have one as far off in any value; "
    f"it stands out up to {100 * FALSE_ALARM:g} %, and is worth a look up to {100 * SUSPICION:g} %."
)
RATE: Final = (
    "These chances hold for values of any distribution whose tails are no longer than exponential. Of normal "
    "values, fewer than 1 % of reports find a drive worth a look. The errors of all values add up to them "
    f"(Bonferroni). Effects of a path: {100 * PATH_ALARM:g} % of reports, by dealing out the drives at "
    "random (Westfall and Young)."
)
OF_THE_LOT: Final = (
    "All this holds for the population that the drives were drawn from: one lot tells of that lot."
)
SWAP: Final = (
    "A drive and its slot can't be told apart by a single run. Swap the drive with another one and "
    "test both again: what moves with the drive is the drive's."
)
_ALSO_OFF: Final = 0.5


def least_text(least: float) -> str:
    """From which difference on a drive is named; empty where any counts."""
    if not least:
        return ""
    return f"A drive that is off by less than {least:g} %, of temperatures {least:g} K, is not named."


def number(value: float) -> str:
    """Four significant digits and more, as the value's size asks for."""
    size = abs(value)
    return cells.fixed(value, 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 10 else 4)


def off_text(value: ValueFigures, off: float) -> str:
    """``-5.2 %`` or ``+3.1 K``."""
    return f"{cells.signed(off, 1)} {value.distance_unit}".rstrip()


def beside_text(value: ValueFigures, one: NamedValue) -> str:
    """``bay2 +0.1 K, bay4 +0.3 K``: the drives in the slots beside it."""
    return ", ".join(f"{slot} {off_text(value, off)}" for slot, off in one.beside.items())


def chance_text(chance: float) -> str:
    """A probability in per cent, with two digits that count."""
    return f"{Decimal(f'{100 * chance:.1e}'):f} %" if chance >= 1e-6 else "< 0.0001 %"


def confidence_text(confidence: float) -> str:
    """Confidence in per cent; never rounded up to 100."""
    return f"{100 * confidence:.1f} %" if confidence < 0.999 else "more than 99.9 %"


def named_line(value: ValueFigures, one: NamedValue) -> str:
    """``SN104: RND 4 KiB RW0 5,490 IOPS, -5.1 % off the median; beside it: 3 -0.1 %, 5 +0.2 %``."""
    of_path = f" of its {value.within}" if value.within else ""
    measured = f"{number(one.value)} {value.unit}".rstrip()
    line = f"{one.drive}: {value.label} {measured}, {off_text(value, one.off)} off the median{of_path}"
    if one.beside:
        line += f"; beside it: {beside_text(value, one)}"
    if one.beside and all(off / one.off >= _ALSO_OFF for off in one.beside.values()):
        line += ", so that it may be the place"
    return line


def effect_line(value: ValueFigures, effect: Effect) -> str:
    """``RND 4 KiB RW0 goes with host: medians h1 5,780, h2 5,200``."""
    if effect.medians:
        groups = ", ".join(f"{group or 'none'} {number(middle)}" for group, middle in effect.medians.items())
        return f"{value.title} goes with {effect.path}: medians {groups}"
    off = off_text(value, effect.end_to_end or 0.0)
    return f"{value.title} goes with {effect.path}: the last third of the drives is {off} off the first third"


def too_few(finding: TestFigures) -> str:
    """Why nothing is judged, and what it takes."""
    return (
        f"{finding.drives} drives are too few to judge which one stands out: that takes {FEWEST} of a kind. "
        f"Test {FEWEST - finding.drives} more."
    )


def what_may_be_said(finding: TestFigures) -> Iterator[str]:
    """What so many drives tell of those that were not tested."""
    count = finding.drives
    covered, sure = f"{100 * COVERED:g} %", f"{100 * CONFIDENCE:g} % confidence"
    yield (
        f"With {count} drives, the smallest of a value is below {covered} of the population with "
        f"{confidence_text(finding.confidence_beyond_one_end)} confidence, and so is the largest above; "
        f"between the two lie {covered} with {confidence_text(finding.confidence_between_ends)} (Wilks; any "
        "distribution)."
    )
    ranks = median_ranks(count)
    if ranks is None:
        yield f"The population's median has no bounds with {sure}: that takes 6 drives."
    else:
        rank, confidence = ranks
        ends = f"number {rank} from below and number {rank} from above"
        if rank == 1:
            ends = "the smallest and the largest"
        yield (
            f"The population's median lies between {ends} of the {count} drives with "
            f"{100 * confidence:.1f} % confidence."
        )
    bad = len({one.drive for value in finding.values for one in value.named})
    if bad:
        low, high = share_bounds(bad, count)
        yield (
            f"{bad} of {count} drives stand{'s'[bad != 1 :]} out: {100 * low:.1f} to {100 * high:.1f} % of "
            f"the population would, with {sure} (Clopper, Pearson)."
        )
    else:
        yield (
            f"No drive stands out. Up to {100 * finding.missed_share:.1f} % of the population may be such "
            f"drives and none of them among these {count} ({sure})."
        )


def repeat_line(value: ValueFigures) -> str:
    """Whether drives differ by more than runs of one drive; empty where each has one run."""
    between, runs = value.between_drives, value.between_runs
    if between is None or runs is None:
        return ""
    unit = value.distance_unit
    text = f"{value.label}: {between:.2g} {unit} between drives, {runs:.2g} {unit} between runs of a drive"
    return text if between > runs else f"{text}: no larger, so that drives can't be told apart by one run"

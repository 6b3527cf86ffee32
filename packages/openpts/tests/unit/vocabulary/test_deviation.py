"""The ledger's entries: what holds of a run, and what deviates alike in several steps."""

from msgspec.structs import replace

from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.verdict import Deviation, StepDeviation, ledger_of

OF_RUN = Deviation("PTS-IOPS-07", "7.2", "twice", "once", "less")


def late(number: int, extent: float, effect: str = "late") -> StepDeviation:
    place = StepPlace(1, Phase.ROUND, number, 0)
    entry = Deviation("PTS-GEN-01", "1.1", "in time", f"{place}: {extent} s", effect, steps=1)
    return StepDeviation(place, entry, extent)


def test_steps_that_deviate_alike_are_one_entry_with_the_worst_where_the_first_was() -> None:
    slept = late(1, 9, effect="asleep")
    found = (OF_RUN, late(1, 2), slept, late(2, 7), OF_RUN, late(4, 3))
    used = "3 steps, round 1, step 1 to round 4, step 1; worst: round 2, step 1: 7 s"
    merged = replace(late(2, 7).entry, used=used, steps=3)
    assert ledger_of(found) == (OF_RUN, merged, slept.entry, OF_RUN)


def test_a_step_that_was_carried_out_again_counts_once() -> None:
    assert ledger_of((late(1, 2), late(1, 5), late(1, 3))) == (late(1, 5).entry,)
    (twice,) = ledger_of((late(1, 2), late(1, 5), late(2, 1)))
    assert twice.steps == 2


def test_entries_of_steps_are_of_one_kind_whatever_their_values() -> None:
    assert late(1, 2).entry.kind == late(3, 4).entry.kind != late(1, 2, effect="other").entry.kind
    assert OF_RUN.kind == OF_RUN

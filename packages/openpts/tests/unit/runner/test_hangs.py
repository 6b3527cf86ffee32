"""When a hanging I/O is worth a word: once per hang, and again at each doubling."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from openpts.engine.contract import OutstandingIo
from openpts.runner.step_faults import HANG_NS, HangWatch


def io(age_ns: int, offset_bytes: int = 0) -> OutstandingIo:
    return OutstandingIo(age_ns, "read", offset_bytes, 4096)


def told(seen: list[OutstandingIo | None]) -> list[OutstandingIo]:
    watch = HangWatch()
    return [news for oldest in seen if (news := watch.news(oldest)) is not None]


def test_a_new_hang_is_told_after_the_old_one_is_over() -> None:
    first, second = io(HANG_NS), io(HANG_NS, 4096)
    assert told([first, second]) == [first]
    assert told([first, None, second]) == [first, second]
    assert told([first, io(HANG_NS - 1), second]) == [first, second]


def test_a_deep_queue_that_is_answered_late_is_not_told_one_by_one() -> None:
    queue = [io(HANG_NS + n % 7, n * 4096) for n in range(1000)]
    assert told([*queue]) == queue[:1]


@given(st.lists(st.integers(1, HANG_NS), min_size=1, max_size=400))
def test_one_hang_is_told_at_doublings_only(steps_ns) -> None:
    age_ns, seen = 0, []
    for step_ns in steps_ns:
        age_ns += step_ns
        seen.append(io(age_ns))
    ages = [news.age_ns for news in told([*seen])]
    # One word when each of the ages 5, 10, 20, 40 ... s is passed.
    doublings = [HANG_NS * 2**n for n in range(30)]
    assert ages == [
        next(one.age_ns for one in seen if one.age_ns >= due_ns) for due_ns in doublings if due_ns <= age_ns
    ]
    assert all(later > earlier for earlier, later in pairwise(ages))

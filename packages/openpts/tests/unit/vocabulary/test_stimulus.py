import pytest

from openpts.vocabulary.stimulus import ActiveRange


@pytest.mark.proves("PTS-DEF-01", "PTS-DEF-02")
@pytest.mark.parametrize(
    ("start_pct", "end_pct", "first_lba", "last_lba"),
    [(0, 75, 0, 749_999), (0, 100, 0, 999_999), (0, 5, 0, 49_999), (20, 100, 199_999, 999_999)],
)
def test_active_range_rounds_down_and_includes_both_ends(start_pct, end_pct, first_lba, last_lba) -> None:
    # MaxUserLBA 999,999: the figures follow from 2.1.1 with fractions rounded down.
    assert ActiveRange(start_pct, end_pct).first_and_last_lba(999_999) == (first_lba, last_lba)


def test_whole_percentages_give_exactly_their_share() -> None:
    assert ActiveRange(0, 75).bytes_of(512_000_000, 512) == (0, 384_000_000)
    assert ActiveRange().bytes_of(512_000_000, 512) == (0, 512_000_000)

"""What `openpts ready` says of times that are known, and how sure a median is, against SciPy's binomial."""

import pytest
from scipy.stats import binom

from openpts.units import NS_PER_MS, NS_PER_S
from openpts_nvme.ready.command import ReadyDocument, figure_of, print_ready
from openpts_nvme.ready.order_statistics import median_interval
from tests.support.transcript import Golden


def document(times_ns: tuple[int, ...], path: str = "/dev/nvme0n1") -> ReadyDocument:
    return ReadyDocument(
        target="/dev/nvme0n1",
        path=path,
        serial="S1",
        way="removal",
        after="its removal and return",
        figures=(
            figure_of("first_identify", times_ns),
            figure_of("first_read", tuple(time + NS_PER_MS for time in times_ns)),
            figure_of("read_gap", tuple(2 * time for time in times_ns)),
            figure_of("shutdown", tuple(time // 10 for time in times_ns)),
        ),
        calm_gap_ns=NS_PER_MS,
    )


@pytest.mark.parametrize("count", [1, 5, 6, 8, 9, 20, 100])
def test_the_interval_has_the_median_in_95_of_100_samples(count: int) -> None:
    found = median_interval(range(1, count + 1))
    if found is None:
        assert binom.cdf(0, count, 0.5) * 2 > 0.05
        return
    low, high = found
    assert low + high == count + 1
    assert 2 * binom.cdf(low - 1, count, 0.5) <= 0.05 < 2 * binom.cdf(low, count, 0.5)


@pytest.mark.parametrize(
    ("times_ns", "path"),
    [
        (tuple(range(100 * NS_PER_MS, 160 * NS_PER_MS, 10 * NS_PER_MS)), "/dev/nvme0n1"),
        ((3 * NS_PER_S,), "/dev/nvme1n1"),
    ],
)
def test_the_table(
    times_ns: tuple[int, ...], path: str, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    print_ready(document(times_ns, path))
    assert capsys.readouterr().out == golden


def test_a_limit_is_kept_by_the_longest_of_the_times() -> None:
    kept = figure_of("first_identify", (NS_PER_S, 1))
    assert kept.limit is not None
    assert (kept.limit.requirement, kept.keeps) == ("TTR-1", True)
    assert figure_of("first_identify", (NS_PER_S + 1, 1)).keeps is False
    assert figure_of("read_gap", (1,)).keeps is None

import pytest

from openpts.vocabulary.facts import Fact
from openpts_pages.facts_table import remaining


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("io_path", "I/O path"),
        ("io_uring_qd1_median_ns", "io_uring QD 1 median, ns"),
        ("own_cpu_time", "Own CPU time"),
        ("nowait", "NOWAIT"),
        ("registered_ring", "Registered ring"),
        ("engine", "Engine"),
        ("rated_sequential_write_mb_per_s", "Rated sequential write, MB/s"),
        ("iops", "IOPS"),
        ("rated_random_read_iops", "Rated random read, IOPS"),
    ],
)
def test_names_of_facts_are_written_as_the_field_writes_them(key, label) -> None:
    assert remaining({key: Fact("x", "y")}, ()) == [(label, "x", "y")]

"""How the processors of made-up hosts are shared out."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.nearby_cpus import parse_cpu_list
from openpts.system_files import SystemRoots
from openpts_batch.side_by_side import ProcessorShares, cpu_list


def host(folder: Path, **nodes: str) -> SystemRoots:
    """Two threads in each core, the second numbered behind all first ones, as Linux does."""
    cpus = [cpu for text in nodes.values() for cpu in parse_cpu_list(text)]
    half = len(cpus) // 2
    for name, text in nodes.items():
        (folder / "devices/system/node" / name).mkdir(parents=True)
        (folder / "devices/system/node" / name / "cpulist").write_text(f"{text}\n")
    for cpu in cpus:
        topology = folder / f"devices/system/cpu/cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{cpu % half},{cpu % half + half}\n")
    return SystemRoots(sys=folder)


@pytest.fixture
def roots(tmp_path) -> SystemRoots:
    return host(tmp_path, node0="0-3,8-11", node1="4-7,12-15")


def shares(roots: SystemRoots, nodes: list[int | None], at_most: int | None = None) -> ProcessorShares:
    return ProcessorShares.of(dict(enumerate(nodes)), at_most, set(range(16)), roots)


def test_each_drive_has_whole_cores_of_its_own_node(roots) -> None:
    found = shares(roots, [1, 0, 1])
    assert [found.take(drive) for drive in range(3)] == [(4, 12, 5, 13), (0, 8, 1, 9), (6, 14, 7, 15)]


def test_all_drives_have_equally_many_wherever_they_are(roots) -> None:
    found = shares(roots, [0, 0, 0, 1])
    assert {len(found.take(drive)) for drive in range(4)} == {2}


def test_a_drive_without_a_node_goes_where_the_fewest_are(roots) -> None:
    assert shares(roots, [0, None, None, None]).nodes == {0: 0, 1: 1, 2: 0, 3: 1}


def test_drives_that_wait_share_what_runs_before_them_had(roots) -> None:
    found = shares(roots, [0] * 3, at_most=2)
    first, second = found.take(0), found.take(1)
    assert not set(first) & set(second)
    found.give_back(0)
    assert found.take(2) == first


def test_more_drives_than_processors_are_dealt_evenly(tmp_path) -> None:
    found = ProcessorShares.of(dict.fromkeys(range(16)), None, {0, 1}, SystemRoots(sys=tmp_path))
    taken = [found.take(drive) for drive in range(16)]
    assert (taken.count((0,)), taken.count((1,))) == (8, 8)
    assert found.words() == [
        "node 0: processors 0-1 for 16 drives at once: up to 8 drives share one, and the host may be what is "
        "measured"
    ]


def test_only_processors_that_this_process_may_use_are_shared(roots) -> None:
    found = ProcessorShares.of({0: 0, 1: 1}, None, {2, 3, 4}, roots)
    assert [found.take(0), found.take(1)] == [(2,), (4,)]


@given(st.lists(st.sampled_from([None, 0, 1, 7]), min_size=1, max_size=40), st.none() | st.integers(1, 40))
def test_what_runs_at_once_never_shares_while_there_is_room(known, at_most) -> None:
    found = ProcessorShares.of(
        dict(enumerate(known)), at_most, set(range(64)), SystemRoots(sys=Path("/nowhere"))
    )
    taken = [found.take(drive) for drive in range(min(len(known), at_most or len(known)))]
    cpus = [cpu for share in taken for cpu in share]
    assert len(cpus) == len(set(cpus))
    assert {len(share) for share in taken} == {64 // len(taken)}


@given(st.sets(st.integers(0, 4095), min_size=1))
def test_a_list_is_read_back_by_the_reader_of_the_kernels_lists(cpus) -> None:
    assert parse_cpu_list(cpu_list(tuple(cpus))) == tuple(sorted(cpus))


def test_runs_of_processors_are_written_short() -> None:
    assert cpu_list((3, 0, 1, 2, 8)) == "0-3,8"

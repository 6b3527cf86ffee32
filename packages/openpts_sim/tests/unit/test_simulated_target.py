"""What names a simulated drive, and the errors for wrong names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.targets.target import parse_target
from openpts.errors import UsageError
from openpts_sim.simulated_target import (
    DriveHistory,
    SimulatedTarget,
    names_simulated,
    parse_simulated_target,
)
from tests.support.refusals import refusal

# a preset's name or path: anything on one line
PRESETS = st.text(
    st.characters(exclude_categories=("C", "Zl", "Zp"), exclude_characters="?"), min_size=1, max_size=60
)
TARGETS = st.builds(
    SimulatedTarget,
    PRESETS,
    st.none() | st.integers(10**6, 2**63 - 1),
    st.none() | st.integers(1, 1_000_000),
    st.none() | st.integers(0, 2**63 - 1),
    st.sampled_from(DriveHistory),
    parameters=st.dictionaries(
        st.from_regex(r"[a-z_]+(\.[a-z_]+)+", fullmatch=True), st.from_regex(r"[0-9a-z.-]+", fullmatch=True)
    ).map(lambda found: tuple(found.items())),
)


def test_a_name_alone_leaves_all_to_the_preset() -> None:
    assert parse_simulated_target("sim:enterprise-tlc") == SimulatedTarget("enterprise-tlc")


def test_capacity_scale_and_seed_come_in_any_order() -> None:
    wanted = SimulatedTarget("client-qlc", 64_000_000_000, 8, 3)
    assert parse_simulated_target("sim:client-qlc?seed=3&capacity=64GB&scale=8") == wanted


def test_a_preset_of_ones_own_is_a_path() -> None:
    assert parse_simulated_target("sim:./my drives/a?b.toml?seed=1").preset == "./my drives/a?b.toml"


def test_what_names_no_simulated_drive(golden) -> None:
    cases = (
        "sim:", "sim:?scale=1", "sim:x\n", "sim:x?", "sim:x?size=1GB", "sim:x?scale",
        "sim:x?scale=2&scale=2", "sim:x?scale=2&", "sim:x?scale=0", "sim:x?scale=4294967296",
        "sim:x?scale=1.5", "sim:x?scale=+2", "sim:x?scale=\u0663", "sim:x?seed=-1",
        "sim:x?seed=9223372036854775808", "sim:x?state=old", "sim:x?capacity=0", "sim:x?capacity=64G",
        "sim:x?capacity=100000PB",
    )  # fmt: skip
    assert [refusal(parse_simulated_target, text) for text in cases] == golden


@given(TARGETS)
def test_a_simulated_target_reads_back_what_it_writes(target) -> None:
    assert parse_simulated_target(str(target)) == target


@given(st.text(max_size=100))
def test_any_query_is_a_drive_or_one_clear_line(query) -> None:
    assert len(complaint(f"sim:x?{query}").splitlines()) <= 1


def complaint(text: str) -> str:
    try:
        parse_simulated_target(text)
    except UsageError as error:
        return str(error)
    return ""


def test_what_needs_a_drive_that_exists_refuses_a_simulated_one() -> None:
    assert names_simulated("sim:x")
    assert not names_simulated("file:sim:x")
    with pytest.raises(UsageError, match="sim:enterprise-tlc is a simulated drive, and this needs one that"):
        parse_target("sim:enterprise-tlc")

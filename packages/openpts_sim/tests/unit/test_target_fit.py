"""What is refused before the purge is what an engine would refuse, held against the simulated one."""

from hypothesis import given
from hypothesis import strategies as st

from openpts.engine.options import Demand, NativeOptions
from openpts.errors import OpenptsError, TargetError, UsageError
from openpts.runner.resource_check import check_places
from openpts.units import KIB, MIB
from openpts.vocabulary.stimulus import (
    ActiveRange,
    BlockSize,
    DataPattern,
    IoCount,
    OperationWeights,
    Placement,
    RandomData,
    ReducibleData,
    Segments,
    Step,
    Stimulus,
    Uniform,
    Zone,
    Zones,
)
from openpts_sim.simulated_device import SimulatedDevice
from openpts_sim.simulated_target import parse_simulated_target
from tests.support.refusals import refusal

DEVICE = SimulatedDevice.of(parse_simulated_target("sim:oracle?capacity=64MiB"))
FACTS = DEVICE.facts
ANYWHERE, WHOLE, RANDOM = Uniform(), ActiveRange(), RandomData()
MOST = Demand(tc=1, qd=4, block_size_bytes=4 * MIB)


def stimulus(
    placement: Placement = ANYWHERE,
    *,
    size_bytes: int = 4 * KIB,
    active_range: ActiveRange = WHOLE,
    data: DataPattern = RANDOM,
) -> Stimulus:
    return Stimulus(
        random_pct=100,
        block_sizes=(BlockSize(size_bytes),),
        operations=OperationWeights(write=100),
        tc=1,
        qd=1,
        active_range=active_range,
        placement=placement,
        data=data,
    )


def accepted_by_the_engine(asked: Stimulus) -> bool:
    with DEVICE.engine(MOST, 1, NativeOptions(), near=False) as engine:
        try:
            engine.submit((Step.of(asked, IoCount(1)),))
        except OpenptsError:
            return False
    return True


SHARES = st.integers(1, 99).map(lambda share: Zones((Zone(50, share / 10), Zone(50, 100 - share / 10))))
SEGMENTS = st.builds(Segments, st.integers(1, 70), st.integers(1, 4000).map(lambda sectors: sectors * 512))


@given(
    placement=st.one_of(SHARES, SEGMENTS),
    size_bytes=st.sampled_from([512, 4 * KIB, 64 * KIB, 1 * MIB]),
    start_pct=st.sampled_from([0, 10, 33.3, 97]),
)
def test_what_is_let_through_is_taken_by_the_engine(placement, size_bytes, start_pct) -> None:
    asked = stimulus(placement, size_bytes=size_bytes, active_range=ActiveRange(start_pct, 100))
    try:
        check_places(asked, FACTS, MOST.block_size_bytes)
    except (TargetError, UsageError):
        if isinstance(placement, Segments):
            assert not accepted_by_the_engine(asked)
    else:
        assert accepted_by_the_engine(asked)


def test_the_reason_is_told(golden) -> None:
    cases = (
        stimulus(Segments(65, 1 * MIB)),
        stimulus(Segments(65_537, 4 * KIB)),
        stimulus(Segments(1, 6 * KIB)),
        stimulus(Segments(1, 32 * KIB), size_bytes=64 * KIB),
        stimulus(Zones((Zone(50, 0.01), Zone(50, 99.99))), size_bytes=64 * KIB),
        stimulus(size_bytes=768),
        stimulus(data=ReducibleData(46, granule_bytes=700)),
        stimulus(data=ReducibleData(46, granule_bytes=8 * MIB)),
    )
    assert [refusal(check_places, asked, FACTS, MOST.block_size_bytes) for asked in cases] == golden

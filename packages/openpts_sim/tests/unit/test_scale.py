"""The planner: each condition at its edge."""

import pytest

from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    ByteAmount,
    Duration,
    FirstOf,
    IoCount,
    Step,
    Stimulus,
)
from openpts_sim.presets import (
    Preset,
    ScaleConcern,
    Severity,
    default_scale,
    expected_iops,
    load_preset,
    scale_concerns,
    size_concerns,
)

GB = 10**9
CAPACITY = 1_600_321_314_816
ENTERPRISE = load_preset("enterprise-tlc")
IDLE = Step.of(None, Duration.seconds(5))


def step(seconds: float, *, block_size_bytes: int = 4096, read_pct: int = 0, toio: int = 256) -> Step:
    stimulus = Stimulus.of(AccessPattern.RANDOM, block_size_bytes, read_pct, 1, toio, ActiveRange())
    return Step.of(stimulus, Duration.seconds(seconds))


def concern(
    subject: str, capacity_bytes: int, scale: int, *steps: Step, preset: Preset = ENTERPRISE
) -> ScaleConcern | None:
    found = [each for each in scale_concerns(preset, capacity_bytes, scale, steps) if each.subject == subject]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("capacity_bytes", "scale"), [(1, 1), (24 * GB, 1), (24 * GB + 1, 2), (48 * GB, 2), (CAPACITY, 67)]
)
def test_the_default_scale_is_the_smallest_that_simulates_24_gb_or_less(capacity_bytes, scale) -> None:
    assert default_scale(ENTERPRISE, capacity_bytes) == scale


def test_an_oracle_is_never_scaled_by_itself() -> None:
    assert default_scale(load_preset("oracle"), CAPACITY) == 1


def test_nothing_speaks_against_long_steps_at_full_size() -> None:
    assert scale_concerns(ENTERPRISE, CAPACITY, 1, [step(60), IDLE, step(60)]) == ()


def capacity_of_superblocks(superblocks: int) -> int:
    pages = superblocks * 64 * 24 / 1.28
    return round(pages + 1) * 4096


def test_fewer_than_300_superblocks_are_refused_if_a_smaller_scale_has_more(golden) -> None:
    assert concern("superblocks", 10 * capacity_of_superblocks(300), 10) is None
    found = concern("superblocks", 10 * capacity_of_superblocks(299), 10)
    assert found.severity is Severity.REFUSE
    assert found.message == golden
    assert concern("superblocks", 10 * capacity_of_superblocks(299), 9) is None


def test_a_drive_that_is_small_itself_is_only_warned_of(golden) -> None:
    found = concern("superblocks", capacity_of_superblocks(299), 1)
    assert found.severity is Severity.WARN
    assert found.message == golden


def test_a_scale_that_fits_is_named_even_if_nothing_is_left_to_simulate(golden) -> None:
    found = concern("superblocks", CAPACITY, 10**9)
    fitting = CAPACITY // capacity_of_superblocks(300)
    assert found.message == golden
    assert concern("superblocks", CAPACITY, fitting) is None


def settling_s(preset: Preset, scale: int, measured: Step) -> float:
    shape = preset.shape(CAPACITY, scale)
    queue_s = measured.stimulus.toio / expected_iops(shape, measured.stimulus, fresh=True)
    return max(shape.settling_ns / 1e9, queue_s)


@pytest.mark.parametrize("measured", [step(60), step(60, block_size_bytes=2**20)])
def test_a_phase_is_20_times_what_buffer_or_queue_need_and_at_the_very_least_twice(measured) -> None:
    scale = 68
    settled_s = settling_s(ENTERPRISE, scale, measured) * scale
    severities = []
    for settlings in (20.01, 19.99, 2.01, 1.99):
        phase = replace_length(measured, settlings * settled_s)
        found = concern("phase length", CAPACITY, scale, phase)
        severities.append(None if found is None else found.severity)
    assert severities == [None, Severity.WARN, Severity.WARN, Severity.REFUSE]


def replace_length(measured: Step, seconds: float) -> Step:
    return Step.of(measured.stimulus, Duration.seconds(seconds))


def test_the_longest_scale_that_a_phase_allows_is_named_and_is_right() -> None:
    phase = step(60, block_size_bytes=2**20)
    found = concern("phase length", CAPACITY, 273, phase)
    assert found.severity is Severity.REFUSE
    fitting = int(found.message.split("a scale of ")[1].split()[0])
    severities = [concern("phase length", CAPACITY, scale, phase) for scale in (fitting, fitting + 1)]
    assert [each.severity if each else None for each in severities] == [Severity.WARN, Severity.REFUSE]


def test_the_worst_phase_is_named_and_amounts_are_no_phases() -> None:
    fill = Step.of(step(1).stimulus, ByteAmount(1))
    found = concern("phase length", CAPACITY, 67, fill, step(600), step(0.1, read_pct=100), step(60))
    assert found.message.startswith("RND 4 KiB 100/0 lasts 0.10 s")
    assert concern("phase length", CAPACITY, 67, fill) is None


def test_every_step_that_does_not_settle_is_named(golden) -> None:
    mixed = step(60, block_size_bytes=2**20, read_pct=65)
    steps = (step(60, block_size_bytes=2**20), mixed, mixed, step(60))
    found = concern("phase length", CAPACITY, 67, *steps)
    assert found.message == golden


def test_of_a_refused_run_the_others_that_do_not_settle_are_counted() -> None:
    sizes, pcts = (4096, 8192, 16384), (0, 35, 65)
    short = [step(0.1, block_size_bytes=size, read_pct=pct) for size in sizes for pct in pcts]
    found = concern("phase length", CAPACITY, 67, *short, *short)
    assert found.severity is Severity.REFUSE
    assert found.message.endswith("; 8 other stimuli are too short as well")


def test_reads_after_idle_time_have_settled_in_it_unless_their_queue_has_not() -> None:
    # the buffer needs 202 ms and is not scaled: at 11 a look of 2 s has 182 ms, and 5.5 s of idle before it
    qlc, capacity_bytes = load_preset("client-qlc"), 256 * GB
    idle, look, write = Step.of(None, Duration.seconds(60)), step(2, read_pct=100, toio=1), step(60)

    def found(*steps: Step) -> Severity | None:
        of_phase = concern("phase length", capacity_bytes, 11, *steps, preset=qlc)
        return None if of_phase is None else of_phase.severity

    assert found(look) is Severity.REFUSE
    assert found(write, idle, look, idle, look) is None
    assert found(write, idle, look, write, look) is Severity.REFUSE, "once it comes right after writes"
    assert found(write, idle, look, look) is Severity.REFUSE
    assert found(write, Step.of(None, Duration.seconds(10)), look) is Severity.WARN
    assert found(idle, step(2, toio=1)) is Severity.REFUSE, "writes fill the buffer"
    deep = step(0.01, read_pct=100, toio=4096)
    assert found(idle, deep) is not None


def test_a_rule_of_several_ends_after_its_shortest_time() -> None:
    either = Step.of(step(1).stimulus, FirstOf((Duration.seconds(600), IoCount(5), Duration.seconds(0.1))))
    assert concern("phase length", CAPACITY, 67, either) is not None


def test_a_burst_is_held_against_the_buffer_that_is_not_scaled(golden) -> None:
    # 12 MiB of buffer against 5 s at 2.18 GB/s: a tenth at scale 86.8
    burst = [step(60), IDLE, step(5), IDLE, step(5)]
    assert concern("bursts", CAPACITY, 86, *burst) is None
    found = concern("bursts", CAPACITY, 273, *burst)
    assert found.severity is Severity.WARN
    assert found.message == golden
    assert concern("bursts", CAPACITY, 273, step(60), step(5)) is None
    assert concern("bursts", CAPACITY, 273, IDLE, step(5, read_pct=100)) is None


def test_tails_are_told_to_depend_on_the_rows_of_a_scaled_drive(golden) -> None:
    assert concern("tails", CAPACITY, 1) is None
    found = concern("tails", CAPACITY, 67)
    assert found.message == golden


def test_tables_must_fit_into_memory(golden) -> None:
    need = round(9.5 * round(1.28 * (CAPACITY // 67 // 4096)))
    assert size_concerns(ENTERPRISE, CAPACITY, 67, need) == ()
    (found,) = size_concerns(ENTERPRISE, CAPACITY, 67, need - 1)
    assert found.subject == "memory"
    assert found.message == golden
    assert found.severity is Severity.REFUSE


def test_pages_must_be_numbered_in_32_bits() -> None:
    most = int((2**32 - 2) / 1.28) * 4096
    assert concern("pages", most, 1) is None
    found = concern("pages", most + 10 * 4096, 1)
    assert found.severity is Severity.REFUSE


def test_refusals_come_first_and_every_concern_says_what_to_do(golden) -> None:
    found = scale_concerns(ENTERPRISE, CAPACITY, 2000, [IDLE, step(5), step(0.1)])
    assert [each.subject for each in found] == ["superblocks", "phase length", "bursts", "tails"]
    assert [each.severity for each in found] == [Severity.REFUSE] * 2 + [Severity.WARN] * 2
    assert [each.message for each in found] == golden


def test_a_drive_that_collects_at_once_needs_longer_phases() -> None:
    stick = load_preset("tlc")
    at_once = stick.shape(32 * GB, 2)
    paced = Preset(stick.text.replace('pace = "burst"', 'pace = "paced"')).shape(32 * GB, 2)
    assert at_once.settling_ns == pytest.approx((at_once.rows * 3500 + 5000) * 1000)
    assert paced.settling_ns < at_once.settling_ns / 5

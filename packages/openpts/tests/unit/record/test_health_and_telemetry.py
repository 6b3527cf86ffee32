"""What the record keeps beside the steps: the device's log, what was sampled, the host's settings."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as with_changes

from openpts.record.health import HealthRecord, ReadingPoint, TelemetryPoint
from openpts.record.reader import Run, read_run, stored_run
from openpts.record.writer import RunWriter
from openpts.vocabulary.facts import Fact, HealthReading
from openpts.vocabulary.sample import NOTHING, Interval, Phase, Sample
from tests.support.interval_samples import interval_of
from tests.support.record_parts import manifest, round_place, sample
from tests.support.vocabulary_values import FLOATS, INTEGERS, TEXTS, values_of

WITH_A_DISK = settings(max_examples=settings().max_examples // 4)
READINGS = st.builds(HealthReading, TEXTS, st.dictionaries(TEXTS, FLOATS, max_size=4))


def kept(
    *,
    health: Sequence[HealthRecord] = (),
    telemetry: Sequence[Sequence[TelemetryPoint]] = (),
    samples: Sequence[Sample] = (),
) -> Run:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        writer = RunWriter.create(folder, manifest())
        for record in health:
            writer.add_health(record)
        for batch in telemetry:
            writer.add_telemetry(batch)
        for position, one in enumerate(samples):
            writer.add_step(round_place(1, position), one)
        writer.close()
        return stored_run(folder)


def points(run: Run) -> tuple[TelemetryPoint, ...]:
    series = run.telemetry_series.items()
    found = ((name, *point) for name, one in series for point in zip(one.t_ns, one.values, strict=True))
    return tuple(sorted(TelemetryPoint(t_ns, name, value) for name, t_ns, value in found))


@WITH_A_DISK
@given(
    st.lists(
        st.builds(
            HealthRecord,
            st.sampled_from(ReadingPoint),
            INTEGERS,
            st.none() | st.sampled_from(Phase),
            st.none() | INTEGERS,
            TEXTS,
            st.none() | INTEGERS,
            READINGS,
        ),
        max_size=4,
    )
)
def test_any_readings_come_back_the_same_and_in_order(health) -> None:
    assert kept(health=health).health == tuple(health)


def test_what_was_sampled_before_the_engine_opened_is_kept() -> None:
    """The clock of an array's engine begins with its first program, telemetry before it."""
    early = TelemetryPoint(-5_961_509_593, "foreign_bytes", 7_892_992.0)
    assert points(kept(telemetry=[[early]])) == (early,)


@WITH_A_DISK
@given(st.lists(st.lists(values_of(TelemetryPoint), max_size=5), max_size=3))
def test_samples_come_back_by_time_and_of_two_at_once_the_later(batches) -> None:
    expected = {(point.t_ns, point.name): point for batch in batches for point in batch}
    assert points(kept(telemetry=batches)) == tuple(expected[key] for key in sorted(expected))


def test_what_comes_with_intervals_stands_among_what_was_sampled() -> None:
    def interval(
        index: int, elapsed_ns: int, temperature_c: float | None, throttled: bool | None
    ) -> Interval:
        return interval_of(index, elapsed_ns=elapsed_ns, temperature_c=temperature_c, throttled=throttled)

    second = 10**9
    intervals = (
        interval(0, second, 40.0, False),
        interval(1, second, None, None),
        interval(2, second // 2, 42.5, True),
    )
    step = with_changes(
        sample(),
        started_ns=100,
        interval_ns=second,
        intervals=intervals,
        read=NOTHING,
        trim=NOTHING,
        flush=NOTHING,
        ios_by_block_size=(),
        ios_by_zone=(),
    )
    between = TelemetryPoint(second + 200, "temperature_sensor_1_c", 55.0)
    run = kept(samples=[step], telemetry=[[between]])
    assert points(run) == (
        TelemetryPoint(100 + second, "temperature_c", 40.0),
        TelemetryPoint(100 + second, "throttled", 0.0),
        between,
        TelemetryPoint(100 + 2 * second + second // 2, "temperature_c", 42.5),
        TelemetryPoint(100 + 2 * second + second // 2, "throttled", 1.0),
    )


def test_the_hosts_settings_are_those_of_before_and_of_after(tmp_path) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    before, after = {"turbo": Fact("on", "sysfs")}, {"turbo": Fact(None, "gone")}
    writer.update_manifest(host_before=before)
    assert read_run(tmp_path / "run").manifest.host_after == {}
    writer.update_manifest(host_after=after)
    writer.close()
    kept_manifest = read_run(tmp_path / "run").manifest
    assert (kept_manifest.host_before, kept_manifest.host_after) == (before, after)

"""The conditions of the test of thermal throttling."""

from openpts.vocabulary.conditions import ExtendedConditions


class ThermalConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="thermal"):
    """Long sequential writes on a cool drive, on a warm one, and at a duty cycle, with idle time between.

    ``precondition_passes`` counts in user capacities, written before anything is measured. The drive idles
    before the cold run until it is at ``cool_c``, or where that is None until it cools no more, but for
    ``longest_cooling_ns`` at the most; its log is read each ``look_ns``. Each of the two runs lasts
    ``load_ns``, or less where the drive throttles and its speed was stable for ``stable_minutes``; it idles
    for ``rest_ns`` before the warm run and again before the duty cycle: ``busy_ns`` of writes and ``idle_ns``
    without I/O in turns for ``duty_ns``. ``ambient_c`` and ``airflow`` are what the operator states.
    """

    block_size_bytes: int
    tc: int
    qd: int
    precondition_passes: float
    cool_c: float | None = None
    longest_cooling_ns: int
    look_ns: int
    load_ns: int
    stable_minutes: int
    rest_ns: int
    busy_ns: int
    idle_ns: int
    duty_ns: int
    ambient_c: float | None = None
    airflow: str | None = None

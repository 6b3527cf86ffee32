"""What is sampled, as an operator says it."""

import pytest

from openpts.cli.run_order import telemetry_of
from openpts.errors import UsageError


@pytest.mark.parametrize(
    ("text", "period_s"),
    [("1s", 1), ("0.1", 0.1), ("500ms", 0.5), ("2.5 s", 2.5), ("3600s", 3600), ("off", None)],
)
def test_a_period_is_a_time_or_off(text: str, period_s: float | None) -> None:
    assert telemetry_of(text, None).period_s == period_s


@pytest.mark.parametrize(
    "text", ["", "0s", "0.09s", "99ms", "3601s", "1m", "-1s", "1e3", "OFF ", "one", "1s 2s"]
)
def test_anything_else_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(UsageError, match=r"--telemetry-period .*: write a time from 0\.1s to 3600s, or off"):
        telemetry_of(text, None)


def test_a_power_command_is_looked_for_before_anything_runs() -> None:
    assert telemetry_of("off", "sh -c 'echo 4.5'").power_command == "sh -c 'echo 4.5'"
    with pytest.raises(UsageError, match="program /no/such not found"):
        telemetry_of("1s", "/no/such program")

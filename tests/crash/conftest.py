"""Says how often openpts was killed, and where power was cut: the figures of uncertainty.md."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = terminalreporter.getreports("passed")
    said = [(name, value) for report in passed for name, value in report.user_properties]
    kills = [value for name, value in said if name == "kills"]
    terminalreporter.write_line(f"{sum(kills)} kills in {len(kills)} runs that lost nothing")
    for count, after_a_step, places in (value for name, value in said if name == "cuts"):
        words = ", ".join(f"{place} {times}" for place, times in places.items())
        terminalreporter.write_line(f"{count} power cuts, {after_a_step} after an announced step: {words}")
    for seen in (value for name, value in said if name == "password"):
        terminalreporter.write_line(", ".join(f"{what} {times}" for what, times in sorted(seen.items())))

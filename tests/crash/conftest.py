"""Says how often openpts was killed: the figure of docs/reliability.md."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = terminalreporter.getreports("passed")
    kills = [value for report in passed for name, value in report.user_properties if name == "kills"]
    terminalreporter.write_line(f"{sum(kills)} kills in {len(kills)} runs that lost nothing")

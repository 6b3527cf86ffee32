"""How long each package's tests took, and which took more than they may without a reason: after each run.

Seconds are those of the clock, summed over all workers.
"""

from collections import Counter
from pathlib import PurePosixPath
from typing import Final

import pytest

LONGEST_S: Final = 5.0
MOST_NAMED: Final = 20


class Seconds:
    """Of a whole run: with workers, all their reports come to one process."""

    def __init__(self) -> None:
        self._of_package = Counter[str]()
        self._tests = Counter[str]()
        self._long: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        package = package_of(report.nodeid)
        self._of_package[package] += report.duration
        if report.when == "call":
            self._tests[package] += 1
            if report.duration > LONGEST_S and "long" not in report.keywords:
                self._long[report.nodeid] = report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._of_package:
            return
        terminalreporter.section("seconds by package")
        for package, taken_s in self._of_package.most_common():
            terminalreporter.write_line(f"{taken_s:7.1f} s {self._tests[package]:5} tests  {package}")
        terminalreporter.write_line(f"{self._of_package.total():7.1f} s {self._tests.total():5} tests  all")
        if self._long:
            terminalreporter.section(f"above {LONGEST_S:g} s, and not marked long with a reason")
            longest = sorted(self._long.items(), key=lambda one: -one[1])
            for test, taken_s in longest[:MOST_NAMED]:
                terminalreporter.write_line(f"{taken_s:7.1f} s  {test}")
            if longest[MOST_NAMED:]:
                terminalreporter.write_line(f"and {len(longest) - MOST_NAMED} more")


def package_of(nodeid: str) -> str:
    first, second, *_ = (*PurePosixPath(nodeid.partition("::")[0]).parts, "")
    return second if first == "packages" else f"{first}/{second}"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Seconds())

"""Which of the values that were read are stored, by a clock that stands still until it is moved."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from openpts.gauge import Gauge, Values
from openpts.runner import telemetry
from openpts.runner.telemetry import _Open
from openpts.units import NS_PER_S


class Read:
    """A gauge of one file whose number is read each second."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, **how: Any) -> None:
        self._path, self._at_s = path, -1
        path.touch()
        clock = SimpleNamespace(monotonic_ns=lambda: self._at_s * NS_PER_S)
        monkeypatch.setattr(telemetry, "time", clock)

        def understand(contents: Sequence[bytes], _at_ns: int) -> Values:
            return {"value": float(contents[0])}

        self.open = _Open.of(Gauge("x", "x", "x", (path,), understand, **how), 1.0)

    def stored(self, numbers: Sequence[int]) -> list[tuple[int, float]]:
        """The seconds and values that are stored while the file holds one of the numbers after the other."""
        found = []
        for number in numbers:
            self._at_s += 1
            self._path.write_text(f"{number}\n")
            found += [(at_ns // NS_PER_S, value) for at_ns, _, value in self.open.news(self.open.read())]
        return found

    def at_the_end(self) -> list[tuple[int, float]]:
        return [(at_ns // NS_PER_S, value) for at_ns, _, value in self.open.last_known()]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Read]]:
    with ExitStack() as stack:

        def make(**how: float) -> Read:
            made = Read(tmp_path / "value", monkeypatch, **how)
            stack.callback(made.open.close)
            return made

        yield make


def test_what_does_not_change_is_stored_now_and_then_and_at_the_end(read: Callable[..., Read]) -> None:
    subject = read()
    assert subject.stored([7] * 151) == [(0, 7), (60, 7), (120, 7)]
    assert subject.at_the_end() == [(150, 7)]


def test_what_is_read_more_rarely_is_stored_again_more_rarely(read: Callable[..., Read]) -> None:
    subject = read(each=2)
    assert subject.stored([7] * 131) == [(0, 7), (120, 7)]


def test_what_is_stored_at_the_end_is_not_stored_twice(read: Callable[..., Read]) -> None:
    subject = read()
    assert subject.stored([7, 7, 8]) == [(0, 7), (2, 8)]
    assert subject.at_the_end() == []


def test_steps_below_the_resolution_are_not_stored_and_add_up(read: Callable[..., Read]) -> None:
    subject = read(resolution=2.5)
    assert subject.stored(range(100, 111)) == [(0, 100), (3, 103), (6, 106), (9, 109)]
    assert subject.at_the_end() == [(10, 110)]


def test_a_share_of_the_last_value_is_a_resolution_too(read: Callable[..., Read]) -> None:
    subject = read(share=0.5)
    assert subject.stored([100, 149, 51, 150, 151, 200, 76, 75]) == [(0, 100), (4, 151), (7, 75)]

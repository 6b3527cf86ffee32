"""A program of the operator's tells power: numbers with the time of their arrival, and what was no number."""

import os
import shlex
import sys
import time
from collections.abc import Callable

import pytest

from openpts.errors import UsageError
from openpts.runner.meter_command import METERS, MeterCommand

PATIENCE_S = 20
Sampled = tuple[int, str, float]


def _listen(command: str, until: int, what: str = "power") -> tuple[list[Sampled], MeterCommand]:
    heard: list[Sampled] = []
    power = MeterCommand(METERS[what], command)
    with power.running(heard.append):
        _until(lambda: len(heard) >= until)
    return heard, power


def _power(command: str) -> MeterCommand:
    return MeterCommand(METERS["power"], command)


def _until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _text(power: MeterCommand) -> str:
    return str(power.facts["external power"].value)


def _program(code: str) -> str:
    return shlex.join([sys.executable, "-uc", code])


def test_each_number_has_the_time_of_its_arrival(tmp_path) -> None:
    asked = tmp_path / "asked"
    os.mkfifo(asked)
    heard: list[Sampled] = []
    with (
        _power(_program(f'for line in open("{asked}"): print(line)')).running(heard.append),
        asked.open("w") as asking,
    ):
        for number in range(3):
            before_ns = time.monotonic_ns()
            print(number + 0.5, file=asking, flush=True)
            _until(lambda number=number: len(heard) > number)
            at_ns, name, watts = heard[-1]
            assert (name, watts) == ("power_external_w", number + 0.5)
            assert before_ns < at_ns < time.monotonic_ns()
    assert len(heard) == 3


def test_what_is_no_number_is_counted_and_left_out(golden) -> None:
    code = (
        'for t in ["watts", "", "4.5 W", "nan", "inf", "1 2", "1e1"]: print(t)\nimport time; time.sleep(60)'
    )
    heard, power = _listen(_program(code), 2)
    assert [watts for _, _, watts in heard] == [4.5, 10.0]
    assert _text(power) == golden


@pytest.mark.parametrize(
    ("line", "watts"),
    [
        ("    Instantaneous power reading:                   215 Watts", 215),
        ("98 Watts", 98),
        ("4520 mW", 4.52),
        ("4520mw", 4.52),
        ("900", 900),
        ("1500 W", 1500),
        (".5", 0.5),
        ("4.", 4),
        ("4520", None),  # of mW, rather
        ("4,52", None),
        ("-4.5", None),
        ("12:00:01,4.5", None),
        ("channel 1: 5", None),
        ("215 V", None),
        ("1e400", None),
    ],
)
def test_watts_are_read_with_label_and_unit(line, watts) -> None:
    heard, _ = _listen(
        _program(f'print("{line}"); print(7); import time; time.sleep(60)'), 1 + (watts is not None)
    )
    assert [value for _, _, value in heard] == [*([] if watts is None else [watts]), 7]


@pytest.mark.parametrize(
    ("line", "celsius"),
    [
        ("85.2", 85.2),
        ("temp=48.3'C", 48.3),
        ("Composite:    +38.9°C", 38.9),
        ("-12.5 C", -12.5),
        ("185 F", 85),
        ("358.15 K", 85),
        ("102 degrees Celsius", 102),
        ("85200", None),  # of thousandths, rather
        ("spot 1: 85", None),
        ("85 W", None),
        ("nan", None),
    ],
)
def test_degrees_are_read_with_label_and_unit(line: str, celsius: float | None) -> None:
    code = f'print("""{line}"""); print(7); import time; time.sleep(60)'
    heard, _ = _listen(_program(code), 1 + (celsius is not None), "temperature")
    assert {name for _, name, _ in heard} == {"temperature_external_c"}
    wanted = [*([] if celsius is None else [celsius]), 7]
    assert [value for _, _, value in heard] == pytest.approx(wanted)


def test_lines_that_are_no_watts_are_said_once_and_at_the_end(golden) -> None:
    power = _power(_program('for _ in range(9): print("215 V")\nimport time; time.sleep(60)'))
    with power.running(lambda _: None):
        _until(lambda: "9 lines" in _text(power))
        assert [power.doubt(ended=False) for _ in range(2)] == golden
    assert power.doubt(ended=True) == golden
    silent = _power(_program("import time; time.sleep(60)"))
    with silent.running(lambda _: None):
        assert not silent.doubt(ended=False)
    assert silent.doubt(ended=True) == golden
    _, sound = _listen(_program("print(7); import time; time.sleep(60)"), 1)
    assert not sound.doubt(ended=True)


def test_a_command_that_ends_by_itself_is_told() -> None:
    heard: list[Sampled] = []
    power = _power(_program("import sys; print(7); sys.exit(3)"))
    with power.running(heard.append):
        _until(lambda: "ended by itself with 3" in _text(power))
    assert [watts for _, _, watts in heard] == [7.0]


def test_it_ends_with_the_run() -> None:
    heard, _ = _listen(_program('import os, time\nprint(os.getpid(), "W"); time.sleep(600)'), 1)
    with pytest.raises(ProcessLookupError):
        os.kill(int(heard[0][2]), 0)


def test_one_that_ignores_the_first_word_ends_all_the_same() -> None:
    deaf = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)"
    heard, _ = _listen(_program(f'{deaf}\nprint(os.getpid(), "W")\ntime.sleep(600)'), 1)
    with pytest.raises(ProcessLookupError):
        os.kill(int(heard[0][2]), 0)


@pytest.mark.parametrize("command", ["", "  ", "'", "/no/such/program 1"])
def test_what_is_no_command_is_refused_before_anything_runs(command) -> None:
    with pytest.raises(UsageError, match="--power-command"):
        _power(command)

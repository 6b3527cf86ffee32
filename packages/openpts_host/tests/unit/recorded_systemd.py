"""Answers of systemd's own programs, as recorded with systemd 252."""

from collections.abc import Sequence

from openpts.programs import Reply
from tests.support.program_answers import no_programs


class RecordedSystemd:
    """Timers that are active, who forbids to sleep, and what was ordered."""

    def __init__(self, *active: str, inhibitors: str = "[]") -> None:
        self.active = list(active)
        self.inhibitors = inhibitors
        self.ordered: list[tuple[str, str]] = []

    def __call__(self, command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        """What the program would have said."""
        match command:
            case ["systemctl", "show", "--property=Id,ActiveState", *units]:
                blocks = (f"Id={unit}\nActiveState={self._state(unit)}\n" for unit in units)
                return _answer(command, "\n".join(blocks))
            case ["systemctl", ("stop" | "start") as verb, unit]:
                self.ordered.append((verb, unit))
                if verb == "stop":
                    self.active.remove(unit)
                else:
                    self.active.append(unit)
                return _answer(command, "")
            case ["busctl", "--json=short", "call", *_, "ListInhibitors"]:
                return _answer(command, f'{{"type":"a(ssssuu)","data":[{self.inhibitors}]}}\n')
            case ["smartctl", *_]:
                return no_programs(command, timeout_s)
        raise AssertionError(command)

    def _state(self, unit: str) -> str:
        return "active" if unit in self.active else "inactive"


class RefusingSystemd(RecordedSystemd):
    """One that an ordinary user may ask but not order."""

    def __call__(self, command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        """As polkit answers without a terminal."""
        if command[1] in {"stop", "start"}:
            complaint = f"Failed to {command[1]} {command[2]}: Interactive authentication required.\n"
            return Reply(tuple(command), 1, "", complaint, 0)
        return super().__call__(command, timeout_s, to_the_end=to_the_end)


def _answer(command: Sequence[str], stdout: str) -> Reply:
    return Reply(tuple(command), 0, stdout, "", 0)

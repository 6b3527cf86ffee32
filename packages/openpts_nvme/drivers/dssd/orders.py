"""Commands that are declared in ``orders.toml``: they are sent, and settings are set back in the end."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec
from msgspec import Struct, field

from openpts_nvme import dssd
from openpts_nvme.drivers.dssd.ask import AdminCommand, Asker
from openpts_nvme.dssd.answers import Answers, CommandResult
from openpts_nvme.dssd.rules import value_of

_SET_FEATURES: Final = 0x09
_MONITOR, _MONITOR_LOG, _POWER, _POWER_STATE = 0xC5, 0xC3, 0xC7, 0x02
_CLEARS: Final = {0xC0, 0xC3}
"""Features that have no value of their own."""
_PAGE: Final = 4096


class Declared(Struct, frozen=True, forbid_unknown_fields=True):
    """A command of ``orders.toml``, which says what its fields are."""

    name: str
    opcode: int = 0
    dwords: tuple[int, ...] = ()
    namespace: int = 0
    log: int = 0
    feature: int = 0
    by_number: bool = False
    set: int = 0
    value: int = 0
    of: str = field(name="from", default="")
    shift: int = 0
    save: bool = False
    data: str = ""
    shows: int = 0


@cache
def declared(act: str) -> tuple[Declared, ...]:
    """The commands of an act, in their order."""
    text = files(dssd).joinpath("orders.toml").read_text()
    return msgspec.convert(tomllib.loads(text), dict[str, tuple[Declared, ...]])[act]


def carry_out(act: str, asker: Asker, answers: Answers) -> None:
    """Send the commands of an act; what they bring is known as ``P.name``, and settings come back."""
    before: dict[int, tuple[int, bytes]] = {}
    try:
        for one in declared(act):
            answers[f"P.{one.name}"] = _answered(one, asker, answers, before)
    finally:
        for number, (value, data) in reversed(before.items()):
            set_feature(asker, number, value, data, save=bool(data))


def _answered(
    one: Declared, asker: Asker, answers: Answers, before: dict[int, tuple[int, bytes]]
) -> CommandResult:
    index = 0 if one.by_number else None
    if one.log:
        return asker.log(one.log, index=index)
    if one.feature:
        return asker.feature(one.feature, 0, index=index)
    if one.opcode:
        reply = asker.send(AdminCommand(one.opcode, one.dwords, one.namespace))
        return CommandResult(reply.data, reply.status)
    base = value_of(one.of, answers) if one.of else 0
    if base is None or (value := round(base) + one.value) <= 0 < -one.value:
        return CommandResult(why="there is no such value on this drive")
    if one.set not in {*before, *_CLEARS} and not _remember(one, asker, before):
        return CommandResult(why="its present value is not reported, and could not be set back")
    data = bytes.fromhex(one.data).ljust(_PAGE, b"\0") if one.data else b""
    if status := set_feature(asker, one.set, value << one.shift, data, save=one.save):
        return CommandResult(status=status)
    seen = asker.log(one.shows) if one.shows else asker.feature(one.set, 0)
    return CommandResult() if seen.words else seen


def _remember(one: Declared, asker: Asker, before: dict[int, tuple[int, bytes]]) -> bool:
    """Keep what Set Features takes to set it back."""
    if one.set == _MONITOR:
        old = asker.log(_MONITOR_LOG)
        if not old.words:
            log = old.data
            data = log[4:13] + log[448:450] + bytes((0, log[0] & 1))
            before[one.set] = 0, data.ljust(_PAGE, b"\0")
        return not old.words
    if one.set == _POWER and not _remember(Declared("", set=_POWER_STATE), asker, before):
        return False
    now = asker.feature(one.set, 0)
    if not now.words:
        before[one.set] = int.from_bytes(now.data[:4], "little") << one.shift, b""
    return not now.words


def set_feature(asker: Asker, number: int, value: int, data: bytes = b"", *, save: bool = False) -> int:
    """Set a feature by the specification's UUID index; its status."""
    dwords = (number | save << 31, value & 0xFFFFFFFF, 0, 0, asker.uuid_index)
    return asker.send(AdminCommand(_SET_FEATURES, dwords, data=data)).status

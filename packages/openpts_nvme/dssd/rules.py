"""A check that is one line: what is read, how it is compared, with what, and when it applies.

``LC0[494:495] == 6`` looks at bytes 494 to 495 of log C0h, ``CAP.47-46 == 3`` at bits of a register,
``LC1[16] == 0 if LC1[3].2 == 0`` applies under a condition, ``FD0 refused 2`` asks for a refusal, and
``for n 0..15: A1[{160+1n}] <= 2`` is sixteen checks.
"""

import math
import operator
import re
import tomllib
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache, partial
from importlib.resources import files
from itertools import product
from typing import Final, Literal

from msgspec import Struct

from openpts_nvme.dssd.answers import NOT_ASKED, Answers, CommandResult, title

_ATOM: Final = re.compile(
    r"(?P<source>[MP]\.\w+|[A-Z][A-Za-z]*[0-9A-F]*[dsc]?'?)"
    r"(?:\[(?P<first>\d+)(?::(?P<last>\d+))?\])?(?:\.(?P<high>\d+)(?:-(?P<low>\d+))?)?(?P<big>be)?"
)
_NUMBER: Final = re.compile(r"(?P<hex>[0-9A-F]+)h|(?P<decimal>\d+(?:\.\d+)?)")
_CONDITION: Final = re.compile(r"(?P<left>.+?) (?P<operator>==|!=|<=|>=|<|>|in|~) (?P<right>.+)")
_STANDING: Final = re.compile(r"(?P<source>\S+) (?:answers|refused (?P<status>\d+))")
_LOOP: Final = re.compile(r"for (?P<variables>[^:]+): (?P<rest>.+)")
_PLACE: Final = re.compile(r"\{([^}]+)\}")
_PART: Final = re.compile(r"([+-]?)(\d*)([a-z]?)")
_LONG_BYTES: Final = 16

_COMPARISONS: Final = {
    "==": operator.eq, "!=": operator.ne,
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip

_Bytes = Callable[[Answers], bytes]
_Value = Callable[[Answers], float]


class State(StrEnum):
    """How a check ended. NOT_APPLICABLE: its condition does not hold; NOT_CHECKED: a source was not asked."""

    MET = "met"
    NOT_MET = "not met"
    NOT_APPLICABLE = "not applicable"
    NOT_CHECKED = "not checked"


class RuleOutcome(Struct, frozen=True):
    """One check of a requirement: what was seen, and what was asked for."""

    state: State
    seen: str
    asked: str


class _UnansweredError(Exception):
    """A source has no data, and a rule needs them."""

    def __init__(self, source: str, answer: CommandResult) -> None:
        super().__init__(f"{title(source)}: {answer.words}")
        self.is_refused = bool(answer.status)


@cache
def unrolled(line: str) -> tuple[str, ...]:
    """A line's checks, each without a loop."""
    found = _LOOP.fullmatch(line)
    if found is None:
        return (line,)
    words = found["variables"].split()
    names, ranges = words[::2], []
    for text in words[1::2]:
        first, _, last = text.partition("..")
        ranges.append(range(int(first), int(last) + 1))
    rounds = (dict(zip(names, at, strict=True)) for at in product(*ranges))
    return tuple(_at(found["rest"], values) for values in rounds)


def _at(text: str, values: dict[str, int]) -> str:
    return _PLACE.sub(lambda place: str(_linear(place[1], values)), text)


def _linear(text: str, at: dict[str, int]) -> int:
    """The value of a sum such as ``168-24b+8k``."""
    total = 0
    for sign, factor, name in _PART.findall(text):
        if factor or name:
            total += (-1 if sign == "-" else 1) * int(factor or 1) * (at[name] if name else 1)
    return total


@cache
def sources(line: str) -> frozenset[str]:
    """What a line looks at."""
    found = set()
    for each in unrolled(line):
        for condition in re.split(r" if | and ", each):
            standing = _STANDING.fullmatch(condition)
            parts = re.split(r" (?:==|!=|<=|>=|<|>|in|~) ", condition)
            texts = [standing["source"]] if standing else parts[:1] if " ~ " in condition else parts
            for text in texts:
                for term in re.split(r" [+*] ", text):
                    if not _NUMBER.fullmatch(term) and (atom := _ATOM.fullmatch(term)):
                        found.add(atom["source"])
    return frozenset(found)


def value_of(text: str, answers: Answers) -> float | None:
    """The value of a sum of fields and numbers; None where one was not answered."""
    try:
        return _sum(text)(answers)
    except _UnansweredError:
        return None


class _Condition(Struct, frozen=True):
    """Whether it holds for a drive's answers, and the text of what was seen there."""

    holds: Callable[[Answers], bool]
    seen: Callable[[Answers], str]


class Check(Struct, frozen=True):
    """A line without a loop, of which nothing is left to be read."""

    line: str
    head: str
    asked: _Condition
    conditions: tuple[_Condition, ...]

    def outcome(self, answers: Answers) -> RuleOutcome:
        """How it ends for a drive's answers."""
        try:
            for each in self.conditions:
                if not each.holds(answers):
                    return RuleOutcome(State.NOT_APPLICABLE, "", self.line)
        except _UnansweredError as error:
            return RuleOutcome(
                State.NOT_APPLICABLE if error.is_refused else State.NOT_CHECKED, str(error), self.line
            )
        try:
            state = State.MET if self.asked.holds(answers) else State.NOT_MET
            return RuleOutcome(state, self.asked.seen(answers), self.head)
        except _UnansweredError as error:
            return RuleOutcome(
                State.NOT_MET if error.is_refused else State.NOT_CHECKED, str(error), self.head
            )


@cache
def checks(line: str) -> tuple[Check, ...]:
    """A line's checks, read once: the lines of a record are asked of each record of a list."""
    found = []
    for each in unrolled(line):
        head, _, conditions = each.partition(" if ")
        read = tuple(map(_condition, conditions.split(" and "))) if conditions else ()
        found.append(Check(each, head, _condition(head), read))
    return tuple(found)


@cache
def _condition(text: str) -> _Condition:
    if standing := _STANDING.fullmatch(text):
        return _standing(standing["source"], int(standing["status"] or 0))
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no condition, such as LC0[494:495] == 6")
    left, comparison, right = found["left"], found["operator"], found["right"]
    if comparison == "~":
        data, pattern = _bytes(left), re.compile(right.encode("latin-1"))
        return _Condition(
            lambda answers: pattern.fullmatch(data(answers)) is not None,
            lambda answers: f"{_words(left)} = {data(answers).decode('latin-1')!r}",
        )
    value = _sum(left)
    if comparison == "in":
        return _Condition(_among(value, right), partial(_seen, (left,)))
    compares, other = _COMPARISONS[comparison], _sum(right)
    shown = (left,) if _NUMBER.fullmatch(right) else (left, right)
    return _Condition(lambda answers: compares(value(answers), other(answers)), partial(_seen, shown))


def _standing(source: str, status: int) -> _Condition:
    def answer(answers: Answers) -> CommandResult:
        found = answers.get(source, NOT_ASKED)
        if found.why:
            raise _UnansweredError(source, found)
        return found

    return _Condition(
        lambda answers: answer(answers).status == status,
        lambda answers: f"{title(source)}: {answer(answers).words or 'answered'}",
    )


def _among(value: _Value, text: str) -> Callable[[Answers], bool]:
    """Whether a value is one of those listed: ``0,97..122``, ``8000h..``."""
    parts = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        parts.append((_sum(first), _sum(last or first) if last or not dots else lambda _: math.inf))

    def holds(answers: Answers) -> bool:
        found = value(answers)
        return any(low(answers) <= found <= high(answers) for low, high in parts)

    return holds


@cache
def _sum(text: str) -> _Value:
    products = [[_factor(factor) for factor in term.split(" * ")] for term in text.split(" + ")]
    if len(products) == len(products[0]) == 1:
        return products[0][0]
    return lambda answers: sum(math.prod(each(answers) for each in factors) for factors in products)


def _factor(text: str) -> _Value:
    if number := _NUMBER.fullmatch(text):
        value = int(number["hex"], 16) if number["hex"] else float(text) if "." in text else int(text)
        return lambda _: value
    atom, data = _atom(text), _bytes(text)
    if atom["source"].startswith("M."):
        return lambda answers: float(data(answers))
    order: Literal["big", "little"] = "big" if atom["big"] else "little"
    if atom["high"] is None:
        return lambda answers: int.from_bytes(data(answers), order)
    low = int(atom["low"] or atom["high"])
    mask = (1 << int(atom["high"]) - low + 1) - 1
    return lambda answers: int.from_bytes(data(answers), order) >> low & mask


def _bytes(text: str) -> _Bytes:
    atom = _atom(text)
    source, is_part = atom["source"], atom["first"] is not None
    first = int(atom["first"] or 0)
    last = int(atom["last"] or first)

    def data(answers: Answers) -> bytes:
        answer = answers.get(source, NOT_ASKED)
        if answer.why or answer.status:
            raise _UnansweredError(source, answer)
        if is_part and last >= len(answer.data):
            why = f"has {len(answer.data)} bytes, none at {last}"
            raise _UnansweredError(source, CommandResult(status=0x02, why=why))
        return answer.data[first : last + 1] if is_part else answer.data

    return data


def _atom(text: str) -> re.Match[str]:
    found = _ATOM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is neither a number nor a field, such as LC0[494:495]")
    return found


def _seen(texts: tuple[str, ...], answers: Answers) -> str:
    return ", ".join(f"{_words(text)} = {_figure(text, _sum(text)(answers))}" for text in texts)


@cache
def _words(text: str) -> str:
    """Fields as a reader knows them: ``log C0h byte 103``."""
    return _ATOM.sub(_field_words, text) if not _NUMBER.fullmatch(text) else text


def _field_words(atom: re.Match[str]) -> str:
    words = title(atom["source"])
    if atom["first"] is not None:
        words += (
            f" byte {atom['first']}" if atom["last"] is None else f" bytes {atom['first']} to {atom['last']}"
        )
    if atom["high"] is not None:
        words += f" bit {atom['high']}" if atom["low"] is None else f" bits {atom['high']} to {atom['low']}"
    return words


def _figure(text: str, value: int | float) -> str:
    """A value as it is best read: numbers as they are, what is long in hexadecimal."""
    if isinstance(value, float):
        return f"{value:,.4g}"
    if value.bit_length() > _LONG_BYTES * 4 and "h" not in text:
        digits = f"{value:X}"
        return f"{digits}h" if len(digits) <= 2 * _LONG_BYTES else f"{digits[:8]}...{digits[-8:]}h"
    return f"{value:,}"


SPECIFICATION: Final = "OCP Datacenter NVMe SSD Specification 2.7"
_RANGES: Final = re.compile(r"(?P<prefix>.+)-(?P<numbers>\d[\d.,]*)")


class RequirementKind(StrEnum):
    """HOST: checked by the host, with evidence; DECLARED: the drive may deny it in log C5h; OUT: neither."""

    HOST = "host"
    DECLARED = "declared"
    OUT = "out"


class DssdRequirement(Struct, frozen=True):
    """What a requirement asks, in openpts' own words; ``reason`` is the code of one that is OUT."""

    identifier: str
    section: str
    words: str
    kind: RequirementKind
    reason: str = ""

    @property
    def why_not(self) -> str:
        """Why the host cannot check it; empty if it can."""
        return reasons()[self.reason] if self.reason else ""


def identifiers(text: str) -> Iterator[str]:
    """Identifiers that a key of the tables names: ``SERRI-1..9`` nine, ``TELDF-34,36`` two."""
    found = _RANGES.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no identifier of a requirement, such as SMART-27 or SERRI-1..9")
    for part in found["numbers"].split(","):
        first, _, last = part.partition("..")
        for number in range(int(first), int(last or first) + 1):
            yield f"{found['prefix']}-{number}"


def natural(identifier: str) -> tuple[str, int]:
    """The order of identifiers: by prefix, then by number."""
    prefix, _, number = identifier.rpartition("-")
    return prefix, int(number)


@cache
def reasons() -> dict[str, str]:
    """Why requirements cannot be checked, by code."""
    found: dict[str, str] = tomllib.loads(files(__package__).joinpath("reasons.toml").read_text())
    return found


def read_all() -> Iterator[DssdRequirement]:
    """Every placement as it is written, in the specification's order."""
    folder = files(__package__).joinpath("requirements")
    for name in sorted(file.name for file in folder.iterdir() if file.name.endswith(".toml")):
        for section, placed in tomllib.loads(folder.joinpath(name).read_text()).items():
            for key, text in placed.items():
                yield from _placed(section, key, text)


def _placed(section: str, key: str, text: str) -> Iterator[DssdRequirement]:
    first, _, words = text.partition(" ")
    if first in {RequirementKind.HOST, RequirementKind.DECLARED}:
        kind, reason = RequirementKind(first), ""
    elif first in reasons():
        kind, reason = RequirementKind.OUT, first
    else:
        raise ValueError(f"{key} is placed as {first!r}: use host, declared, or a code of reasons.toml")
    for identifier in identifiers(key):
        yield DssdRequirement(identifier, section, words, kind, reason)


@cache
def requirements() -> dict[str, DssdRequirement]:
    """All requirements by their identifiers, in the specification's order."""
    return {each.identifier: each for each in read_all()}

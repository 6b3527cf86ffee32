"""A check that is one line: what is looked at, how it is compared, with what, and when it applies.

``LC0[494:495] == 6`` looks at bytes 494 to 495 of log C0h, ``CAP.47-46 == 3`` at bits of a register,
``LC1[16] == 0 if LC1[3].2 == 0`` applies under a condition, ``FD0 refused 2`` asks for a refusal, and
``for n 0..15: A1[{160+1n}] <= 2`` is sixteen checks.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from itertools import product
from typing import Final

from msgspec import Struct

from openpts_nvme.dssd.answers import NOT_ASKED, Answer, Answers, title

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

# a record's lines are asked of each record of a list
_atom, _number = cache(_ATOM.fullmatch), cache(_NUMBER.fullmatch)
_condition, _standing = cache(_CONDITION.fullmatch), cache(_STANDING.fullmatch)


class State(StrEnum):
    """How a check ended. NOT_APPLICABLE: its condition does not hold; NOT_CHECKED: a source was not asked."""

    MET = "met"
    NOT_MET = "not met"
    NOT_APPLICABLE = "not applicable"
    NOT_CHECKED = "not checked"


class Outcome(Struct, frozen=True):
    """One check of a requirement: what was seen, and what was asked for."""

    state: State
    seen: str
    asked: str


class _UnansweredError(Exception):
    """A source has no data, and a rule needs them."""

    def __init__(self, source: str, answer: Answer) -> None:
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
            standing = _standing(condition)
            parts = re.split(r" (?:==|!=|<=|>=|<|>|in|~) ", condition)
            texts = [standing["source"]] if standing else parts[:1] if " ~ " in condition else parts
            for text in texts:
                for term in re.split(r" [+*] ", text):
                    if not _number(term) and (atom := _atom(term)):
                        found.add(atom["source"])
    return frozenset(found)


def check(line: str, answers: Answers) -> Iterator[Outcome]:
    """The outcome of each check of a line."""
    for each in unrolled(line):
        yield _one(each, answers)


def value_of(text: str, answers: Answers) -> float | None:
    """The value of a sum of fields and numbers; None where one was not answered."""
    try:
        return _sum(text, answers)
    except _UnansweredError:
        return None


def _one(line: str, answers: Answers) -> Outcome:
    head, _, conditions = line.partition(" if ")
    try:
        if conditions and not all(_holds(each, answers)[0] for each in conditions.split(" and ")):
            return Outcome(State.NOT_APPLICABLE, "", line)
    except _UnansweredError as error:
        return Outcome(State.NOT_APPLICABLE if error.is_refused else State.NOT_CHECKED, str(error), line)
    try:
        holds, seen = _holds(head, answers)
    except _UnansweredError as error:
        return Outcome(State.NOT_MET if error.is_refused else State.NOT_CHECKED, str(error), head)
    return Outcome(State.MET if holds else State.NOT_MET, seen, head)


def _holds(condition: str, answers: Answers) -> tuple[bool, str]:
    if standing := _standing(condition):
        return _stands(standing["source"], standing["status"], answers)
    found = _condition(condition)
    if found is None:
        raise ValueError(f"{condition!r} is no condition, such as LC0[494:495] == 6")
    left, operator, right = found["left"], found["operator"], found["right"]
    if operator == "~":
        text = _bytes(left, answers).decode("latin-1")
        return re.fullmatch(right, text) is not None, f"{_words(left)} = {text!r}"
    value = _sum(left, answers)
    seen = f"{_words(left)} = {_figure(left, value)}"
    if operator == "in":
        return any(_in(value, part, answers) for part in right.split(",")), seen
    other = _sum(right, answers)
    if not _number(right):
        seen += f", {_words(right)} = {_figure(right, other)}"
    holds = {
        "==": value == other,
        "!=": value != other,
        "<=": value <= other,
        ">=": value >= other,
        "<": value < other,
        ">": value > other,
    }[operator]
    return holds, seen


def _stands(source: str, status: str | None, answers: Answers) -> tuple[bool, str]:
    answer = answers.get(source, NOT_ASKED)
    if answer.why:
        raise _UnansweredError(source, answer)
    seen = f"{title(source)}: {answer.words or 'answered'}"
    return (answer.status == 0 if status is None else answer.status == int(status)), seen


def _in(value: float, part: str, answers: Answers) -> bool:
    first, dots, last = part.strip().partition("..")
    low = _sum(first, answers)
    return value >= low and (value <= _sum(last, answers) if last else bool(dots) or value == low)


def _sum(text: str, answers: Answers) -> float:
    total = 0.0 if "." in text and _number(text) else 0
    for term in text.split(" + "):
        factors = [_value(factor, answers) for factor in term.split(" * ")]
        result = factors[0]
        for factor in factors[1:]:
            result *= factor
        total += result
    return total


def _value(text: str, answers: Answers) -> float:
    if number := _number(text):
        if number["hex"]:
            return int(number["hex"], 16)
        return float(text) if "." in text else int(text)
    atom = _atom(text)
    if atom is None:
        raise ValueError(f"{text!r} is neither a number nor a field, such as LC0[494:495]")
    data = _bytes(text, answers)
    if atom["source"].startswith("M."):
        return float(data)
    value = int.from_bytes(data, "big" if atom["big"] else "little")
    if atom["high"] is None:
        return value
    high = int(atom["high"])
    low = int(atom["low"] or high)
    return value >> low & (1 << high - low + 1) - 1


def _bytes(text: str, answers: Answers) -> bytes:
    atom = _atom(text)
    if atom is None:
        raise ValueError(f"{text!r} is no field, such as LC0[494:495]")
    source = atom["source"]
    answer = answers.get(source, NOT_ASKED)
    if answer.words:
        raise _UnansweredError(source, answer)
    if atom["first"] is None:
        return answer.data
    first = int(atom["first"])
    last = int(atom["last"] or first)
    if last >= len(answer.data):
        raise _UnansweredError(
            source, Answer(status=0x02, why=f"has {len(answer.data)} bytes, none at {last}")
        )
    return answer.data[first : last + 1]


@cache
def _words(text: str) -> str:
    """Fields as a reader knows them: ``log C0h byte 103``."""
    return _ATOM.sub(_field_words, text) if not _number(text) else text


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

"""A job's options as values: what was given last, in this job or in ``[global]``, with its place."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from openpts.did_you_mean import nearest_word
from openpts.fields.fio_values import (
    KIB_BASE,
    Size,
    ValueTextError,
    directions_of,
    numbers_of,
    size,
    time_ns,
    whole_number,
)
from openpts.units import NS_PER_S
from openpts_fio.jobs.job_file import GivenOption, JobSection
from openpts_fio.jobs.options import BY_WORD, OTHER_ENGINES, Option, OptionHandling

_Value = TypeVar("_Value")
_YES: Final = {"1": True, "0": False, "true": True, "false": False}


class JobError(Exception):
    """A job that can't be applied; the text is a complaint with the place of the option."""


class Job:
    """The options of one section by fio's own names. ``unknown`` and ``refused`` are complaints.

    ``ignored`` and ``notes`` are remarks with the places of their options; a caller adds notes.
    """

    def __init__(self, section: JobSection, values: Mapping[str, str]) -> None:
        self.section = section
        self.problems: list[str] = []
        self.ignored: list[str] = []
        self.notes: list[str] = []
        self._given: dict[str, list[GivenOption]] = {}
        for written in section.options:
            self._take(written, values)
        self._refuse()
        self._kb_base = KIB_BASE
        self._kb_base = self.number("kb_base", KIB_BASE)

    def _take(self, written: GivenOption, values: Mapping[str, str]) -> None:
        option = BY_WORD.get(written.word)
        given = written.filled(values)
        if engines := OTHER_ENGINES.get(written.word):
            self.problems.append(
                given.complaint(f"is an option of fio's ioengine {engines}, which openpts has not")
            )
        elif option is None:
            near = nearest_word(written.word, BY_WORD)
            meant = f", did you mean {near}?" if near else ""
            self.problems.append(given.complaint(f"fio has no such option{meant}"))
        elif option.treatment is OptionHandling.IGNORED:
            self.ignored.append(f"{given.position}: {given}: {option.says}")
            self._given.setdefault(option.name, []).append(given)
        elif missing := given.missing(values):
            self.problems.append(given.complaint(f"${{{missing[0]}}} has no value: give {missing[0]}=VALUE"))
        else:
            self._given.setdefault(option.name, []).append(given)

    def _refuse(self) -> None:
        """What was given last decides: a job can turn off what [global] asks for."""
        for name in list(self._given):
            option, given = BY_WORD[name], self._given[name][-1]
            if option.treatment is not OptionHandling.REFUSED:
                continue
            self._refuse_one(option, given)

    def _refuse_one(self, option: Option, given: GivenOption) -> None:
        if (given.value or "1") in option.harmless:
            self.ignored.append(f"{given.position}: {given}: does nothing")
        else:
            self.problems.append(given.complaint(option.says))

    def given(self, name: str) -> GivenOption | None:
        """The option as it was given last; None where it was not."""
        return self._given[name][-1] if name in self._given else None

    def is_given(self, name: str) -> bool:
        """Whether it was given at all."""
        return name in self._given

    def later(self, first: str, second: str) -> str | None:
        """Of two options, the one that was given later; None where neither was."""
        places = {
            name: max(
                index for index, one in enumerate(self.section.options) if BY_WORD.get(one.word) is option
            )
            for name in (first, second)
            if name in self._given and (option := BY_WORD[name])
        }
        return max(places, key=lambda name: places[name]) if places else None

    def text(self, name: str, default: str) -> str:
        """Value of an option as it was written; ``default`` where it was not given."""
        given = self.given(name)
        return default if given is None else (given.value or "")

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Whether it is on: a bare word is. Raises JobError."""
        given = self.given(name)
        if given is None:
            return default
        if given.value is None:
            return True
        if given.value not in _YES:
            raise JobError(given.complaint("is neither 0 nor 1"))
        return _YES[given.value]

    def number(self, name: str, default: int) -> int:
        """A whole number. Raises JobError."""
        return self._value(name, default, lambda text: whole_number(text, self._kb_base))

    def time_ns(self, name: str, unit_ns: int = NS_PER_S) -> int:
        """A time in ns, 0 where none was given. Raises JobError."""
        return self._value(name, 0, lambda text: time_ns(text, unit_ns))

    def size(self, name: str, default: Size) -> Size:
        """A size in bytes or per cent. Raises JobError."""
        return self._value(name, default, lambda text: size(text, self._kb_base))

    def numbers(self, name: str) -> dict[str, int]:
        """The whole numbers of the directions that were given one. Raises JobError."""
        for given in self._given.get(name, ()):
            if "/" in (given.value or ""):
                self.note(name, "is read as fio does, no further than the numbers: bssplit has shares")
        return self._merged(name, lambda text: numbers_of(text, self._kb_base))

    def lists(self, name: str, read: Callable[[str, int], _Value]) -> dict[str, _Value]:
        """What each direction was given, by ``read`` from its text and kb_base. Raises JobError."""
        return self._merged(
            name,
            lambda text: {
                direction: read(word, self._kb_base) for direction, word in directions_of(text).items()
            },
        )

    def _merged(self, name: str, read: Callable[[str], dict[str, _Value]]) -> dict[str, _Value]:
        """A later line replaces the values of the directions that it names."""
        values: dict[str, _Value] = {}
        for given in self._given.get(name, ()):
            try:
                values |= read(given.value or "")
            except ValueTextError as error:
                raise JobError(given.complaint(str(error))) from error
        return values

    def error(self, name: str, reason: str) -> JobError:
        """The error of an option, or of the whole job where the option was not given."""
        given = self.given(name)
        if given is not None:
            return JobError(given.complaint(reason))
        return JobError(f"[{self.section.name}]: {name}: {reason}")

    def note(self, name: str, text: str) -> None:
        """Add a remark on an option, with its place where it was given."""
        given = self.given(name)
        place = f"[{self.section.name}]" if given is None else f"{given.position}: {given}"
        self.notes.append(f"{place}: {text}")

    def _value(self, name: str, default: _Value, read: Callable[[str], _Value]) -> _Value:
        given = self.given(name)
        if given is None:
            return default
        try:
            return read(given.value or "")
        except ValueTextError as error:
            raise JobError(given.complaint(str(error))) from error

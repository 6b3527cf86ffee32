"""The conditions that the definition of a test has, for both classes of drives."""

from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from openpts.fields.conditions import Conditions
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.stimulus import ActiveRange

C = TypeVar("C", bound=Conditions)


class ByClass(Struct, frozen=True):
    """A value that the classes have apart."""

    enterprise: Any
    client: Any

    def of(self, drive_class: DriveClass) -> Any:
        """The value for a drive class."""
        return self.enterprise if drive_class is DriveClass.ENTERPRISE else self.client


WHOLE: Final = ActiveRange(0, 100)
RANGE_BY_CLASS: Final = ByClass(WHOLE, ActiveRange(0, 75))
RECOMMENDED_TC: Final = ByClass(4, 2)
RECOMMENDED_QD: Final = ByClass(32, 16)
_CACHE_BY_CLASS: Final = ByClass(enterprise=False, client=True)


class Standard(Generic[C]):
    """Called with a drive class and a seed, it makes conditions of ``kind`` with these values of fields.

    Without others, the volatile cache is off for the enterprise class, and the whole drive is active.
    """

    def __init__(self, kind: type[C], /, **values: Any) -> None:
        self._kind = kind
        self._values = {"write_cache_enabled": _CACHE_BY_CLASS, "active_range": WHOLE, **values}

    def __call__(self, drive_class: DriveClass, seed: int) -> C:
        """The conditions for a class."""
        of_class = {
            name: value.of(drive_class) if isinstance(value, ByClass) else value
            for name, value in self._values.items()
        }
        return self._kind(drive_class=drive_class, seed=seed, **of_class)

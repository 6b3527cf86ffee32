"""Who is behind a run, and how it is labeled."""

from typing import Final

from msgspec import Struct, field

LABEL_NAME: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""A regular expression: metrics allow no other names."""


class People(Struct, frozen=True):
    """Who ran, checked and commissioned the test (PTS 5.1); never guessed. ``labels`` are free, by name."""

    operator: str | None = None
    auditor: str | None = None
    sponsor: str | None = None
    labels: dict[str, str] = field(default_factory=dict)

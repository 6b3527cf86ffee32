"""What a drive is tested for: its use, its design target, its firmware, the settings of the host's BIOS."""

from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, replace

_Text = Annotated[str, Meta(min_length=1, max_length=500)]
_Amount = Annotated[float, Meta(gt=0, le=1e9)]
_Percent = Annotated[float, Meta(gt=0, le=100)]

MATTERS: Final = {
    "productivity": "response times at queue depth 1 and what the cache takes count, since bursts are short "
    "and pauses long; peak figures do not",
    "content creation": "the rate behind the cache counts, since large files are read and written in "
    "sequence",
    "gaming": "sequential reads and random reads at a low queue depth count, since games are loaded; writes "
    "come with installations",
    "server": "figures of steady state and the slowest of 100,000 I/Os count, since the load does not pause",
    "industrial": "what a long load leaves, the longest response time and the figures at all rated "
    "temperatures count; fresh figures do not",
}
"""What a use asks of a drive. Any other use may be declared, with a sentence of the operator's own."""


class BiosSetting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A setting of the host's BIOS that is not the default, and what that does to the results."""

    setting: _Text
    value: _Text
    effect: _Text
    default: _Text | UnsetType = UNSET

    def __str__(self) -> str:
        default = "" if self.default is UNSET else f" (default: {self.default})"
        return f"{self.setting} {self.value}{default}: {self.effect}"


class LatestFirmware(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest firmware that its maker offers, on which day, and where that was read."""

    version: _Text
    as_of: Annotated[
        str, Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description="Day, such as 2026-11-22.")
    ]
    source: _Text

    def __str__(self) -> str:
        return f"{self.version} as of {self.as_of}, {self.source}"


def _key(label: str, help_text: str, unit: str = "") -> Meta:
    """What a key is called in reports, what it means, and the unit behind its value."""
    return Meta(title=label, description=help_text, extra={"unit": unit})


class Purpose(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the drive is for and what it was made for, as its operator declares it; nothing of it is measured.

    The title of each key is its label in reports.
    """

    use_case: (
        Annotated[_Text, _key("Use case", f"What it is for: {', '.join(MATTERS)}, or your own words.")]
        | UnsetType
    ) = UNSET
    what_matters: (
        Annotated[
            _Text,
            _key("What matters", "One sentence on what counts for that use; known for the uses named above."),
        ]
        | UnsetType
    ) = UNSET
    tasking: (
        Annotated[
            Literal["single", "multi"],
            _key("Tasking", "Whether one task uses the drive at a time, or several."),
        ]
        | UnsetType
    ) = UNSET
    duty_pct: (
        Annotated[
            _Percent,
            _key("Design target: duty", "Share of time under load that it is made for.", "% of the time"),
        ]
        | UnsetType
    ) = UNSET
    temperature_class: (
        Annotated[_Text, _key("Design target: temperature class", "Such as commercial, or industrial.")]
        | UnsetType
    ) = UNSET
    temperature_c: (
        Annotated[
            tuple[float, float],
            _key("Design target: temperatures", "Lowest and highest that it is made for.", "°C"),
        ]
        | UnsetType
    ) = UNSET
    rated_tbw: (
        Annotated[
            _Amount,
            _key("Design target: writes", "Terabytes that the host may write in the drive's life.", "TBW"),
        ]
        | UnsetType
    ) = UNSET
    rated_dwpd: (
        Annotated[
            _Amount, _key("Design target: writes a day", "Drive writes per day over the warranty.", "DWPD")
        ]
        | UnsetType
    ) = UNSET
    firmware: (
        Annotated[
            LatestFirmware, _key("Latest firmware", "The newest one, the day, and where that was read.")
        ]
        | UnsetType
    ) = UNSET
    bios: (
        Annotated[
            tuple[BiosSetting, ...],
            _key("BIOS setting", "Settings of the host that are not the default, and what they do."),
        ]
        | UnsetType
    ) = UNSET

    def over(self, other: "Purpose") -> "Purpose":
        """Own declarations, and what only ``other`` declares."""
        return replace(other, **self.declared)

    @property
    def declared(self) -> dict[str, Any]:
        """What was declared, by its key."""
        return {key: value for key, value in asdict(self).items() if value is not UNSET}

    @property
    def sentence(self) -> str:
        """What matters for the declared use; empty if nothing was declared that openpts knows."""
        use = "" if self.use_case is UNSET else self.use_case
        matters = MATTERS.get(use.lower(), "") if self.what_matters is UNSET else self.what_matters
        return f"What matters{f' for {use}' * bool(use)}: {matters.rstrip('.')}." if matters else ""


def _label_and_unit(key: str) -> tuple[str, str]:
    """Of a key of Purpose."""
    annotated = get_args(get_type_hints(Purpose, include_extras=True)[key])[0]
    meta = annotated.__metadata__[-1]
    return meta.title, meta.extra["unit"]


def declared_rows(purpose: Purpose) -> list[tuple[str, str, str]]:
    """Key, label and text of everything declared, a row for each BIOS setting; what matters is then known."""
    rows = []
    known = MATTERS.get(purpose.declared.get("use_case", "").lower())
    matters = {"what_matters": known} if known else {}
    declared = matters | purpose.declared
    for key in (field for field in Purpose.__struct_fields__ if field in declared):
        value = declared[key]
        label, unit = _label_and_unit(key)
        texts = [str(one) for one in value] if key == "bios" else [_text(value)]
        rows += [(key, label, f"{text} {unit}".rstrip()) for text in texts]
    return rows


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{min(value):g} to {max(value):g}"
    return f"{value:,g}" if isinstance(value, float) else str(value)

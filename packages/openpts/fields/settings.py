"""What an operator sets for a run beside its conditions: said once, for command line and plan files."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, UnsetType

from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import LABEL_NAME, Purpose, Scenario
from openpts.vocabulary.purge import PATTERN as PURGE_PATTERN

_Name = Annotated[str, Meta(max_length=200)]


class Setting(Struct, frozen=True):
    """``type`` is that of its value in a plan file, ``planned`` its text there, if it is not ``text``."""

    text: str
    type: Any = _Name
    planned: str = ""

    @property
    def key(self) -> Any:
        """The type of its key in a plan file, which may be left out."""
        return Annotated[self.type, Meta(description=self.planned or self.text)] | UnsetType


RUN_SETTINGS: Final = {
    "drive_class": Setting(
        "Settings that the specification has for enterprise or for client drives; enterprise.",
        Literal[tuple(map(str, DriveClass))],
    ),
    "seed": Setting("Seed of offsets and data; random.", Annotated[int, Meta(ge=0, le=2**63 - 1)]),
    "quick": Setting("Shorten everything to a few minutes.", bool),
    "purge": Setting(
        "Purge first: auto, none, or methods of `openpts purge --help` to try in order; auto.",
        Annotated[str, Meta(pattern=f"^({PURGE_PATTERN})$")],
    ),
    "describe": Setting(
        "TOML file with what the drive doesn't report: flash, controller, price.",
        Annotated[str, Meta(min_length=1, max_length=1000)],
        "TOML file with what the drive doesn't report, beside the plan file: flash, controller, price.",
    ),
    "scenario": Setting(
        "Measure the drive alone, or a machine as its users have it. The host audit judges by it; synthetic.",
        Literal[tuple(map(str, Scenario))],
    ),
    "purpose": Setting(
        "What the drive is for, for the report; a key here wins over the description's.", Purpose
    ),
    "short_report": Setting("Write the report in its short form, too: that of TKperf.", bool),
    "operator": Setting("Test operator, for the report."),
    "auditor": Setting("Auditor, for the report."),
    "sponsor": Setting("Test sponsor, for the report."),
    "labels": Setting(
        "Label the run, in record, report, metrics and exports; may be repeated.",
        dict[Annotated[str, Meta(pattern=LABEL_NAME)], _Name],
        "Labels of the run by their names, in record, report, metrics and exports.",
    ),
}
"""By the names that command and plan have for them; a plan alone has purpose and short report."""

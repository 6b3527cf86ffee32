"""The capture as a condition of the tests that apply its workload."""

from pathlib import Path
from typing import Final

from openpts.fields.field import Field, Kind
from openpts_traces.characteristics.capture import Capture, capture_of
from openpts_traces.characteristics.look_alikes import LIKE
from openpts_traces.recipes import PREFIX

NO_CAPTURE: Final = "name a step table or a trace before the target"

CAPTURE: Final = Field(
    "Capture",
    "Step table, a trace in any known format, or one that ships as recipe:NAME or like:NAME.",
    Kind(
        str,
        lambda _name, word: capture_of(Path(word)),
        lambda capture: capture.name,
        metavar="CAPTURE",
        beside=lambda word, folder: word if word.startswith((PREFIX, LIKE)) else str(Path(folder) / word),
    ),
    name="capture_file",
    free="what is applied, not how",
    argument="CAPTURE",
)


def capture_text(capture: Capture | None) -> str:
    """What runs of one capture have in common, whatever its file was called."""
    return "" if capture is None else f"SHA-256 {capture.sha256}"

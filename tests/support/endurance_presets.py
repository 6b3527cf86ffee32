"""Presets of drives that get hot, and of drives that wear out: shipped ones with a few numbers changed."""

from pathlib import Path

from openpts.simulation.presets import load_preset

HOT_K_PER_W = 7.0
THROTTLED_FACTOR = 60.0
WRITE_COMMAND_S = 1.5e-6
"""Time of the front end for a write, as the enterprise preset has it."""

RATED_ERASES = 50.0
MEAN_ERASES = 60.0


def write_hot_drive(folder: Path) -> Path:
    """The enterprise drive, worse cooled, and with a front end that is 60 times slower from 75 °C on."""
    text = load_preset("enterprise-tlc").text
    return _written(
        folder / "hot.toml",
        text,
        ("controller_k_per_w = 3.5", f"controller_k_per_w = {HOT_K_PER_W}"),
        ("hysteresis_k = 4.0, factor = 2.0 }", f"hysteresis_k = 4.0, factor = {THROTTLED_FACTOR} }}"),
    )


def write_worn_drive(folder: Path) -> Path:
    """The stick of MLC with flash that lasts for some 60 erases."""
    wear = (
        f"[page_mapped.wear]\nmean_erases = {MEAN_ERASES}\ndeviation_share = 0.08\n"
        f"rated_erases = {RATED_ERASES}\n\n"
    )
    return _written(
        folder / "worn.toml", load_preset("mlc").text, ("# Published figures", f"{wear}# Published figures")
    )


def _written(path: Path, text: str, *changes: tuple[str, str]) -> Path:
    for before, after in changes:
        assert text.count(before) == 1, f"the preset has no {before!r}"
        text = text.replace(before, after)
    path.write_text(text, encoding="utf-8")
    return path

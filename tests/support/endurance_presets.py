"""Presets of drives that get hot, and of drives that wear out: shipped ones with a few numbers changed."""

import re
from pathlib import Path

from openpts_sim.presets import load_preset

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
    return _written(
        folder / "worn.toml",
        load_preset("mlc").text,
        ("mean_erases = 4000.0", f"mean_erases = {MEAN_ERASES}"),
        ("deviation_share = 0.05", "deviation_share = 0.08"),
        ("rated_erases = 3000.0", f"rated_erases = {RATED_ERASES}"),
    )


def write_short_lived(
    folder: Path, name: str, mean_erases: float, rated_erases: float, *changes: tuple[str, str]
) -> Path:
    """A shipped preset whose blocks live for fewer erases, all else as it is but for the changes."""
    text = load_preset(name).text
    for key, value in (("mean_erases", mean_erases), ("rated_erases", rated_erases)):
        text, count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        assert count == 1
    return _written(folder / f"{name}-short.toml", text, *changes)


def write_forgetful_drive(folder: Path, uncorrectable_chance: float) -> Path:
    """The stick of MLC: some days after a cell that was erased before is written, a read of it needs a retry.

    It fails in spite of that with the chance that is given. The rate of bit errors is 1e-5 of fresh data, and
    more than 3e-5 after a month; a retry helps from 2e-5 on.
    """
    law = (
        "[page_mapped.media_errors]\nbase = 1e-5\nper_erase = 0.0\npower = 1.0\nper_age = 1e-5\n"
        "age_hours = 24.0\nper_read = 0.0\ntiers = [2e-5]\nretry_us = 500.0\n"
        f"uncorrectable_chance = {uncorrectable_chance}\n\n"
    )
    text = load_preset("mlc").text
    return _written(folder / "forgetful.toml", text, ("# Published figures", f"{law}# Published figures"))


def _written(path: Path, text: str, *changes: tuple[str, str]) -> Path:
    for before, after in changes:
        assert text.count(before) == 1, f"the preset has no {before!r}"
        text = text.replace(before, after)
    path.write_text(text, encoding="utf-8")
    return path

"""Made-up plug-ins: folders as an installer leaves them."""

from collections.abc import Mapping
from pathlib import Path

DOOR = "openpts.plugins:DOOR_2"


def installed(
    place: Path,
    name: str,
    source: str,
    entries: Mapping[str, str],
    *,
    door: str | None = DOOR,
    version: str = "1.0",
) -> Path:
    """A module ``name`` with its metadata in ``place``; gives the module."""
    with_metadata(place, name, {**({"door": door} if door else {}), **entries}, version)
    module = place / f"{name}.py"
    module.write_text(source, encoding="utf-8")
    return module


def with_metadata(place: Path, name: str, entries: Mapping[str, str], version: str) -> None:
    """The metadata alone, of a module ``name`` in ``place``."""
    metadata = place / f"{name}-{version}.dist-info"
    metadata.mkdir(parents=True)
    lines = (f"{key} = {where}" for key, where in entries.items())
    text = "\n".join(["[console_scripts]", "x = y:z", "", "[openpts.plugins]", *lines])
    (metadata / "entry_points.txt").write_text(f"{text}\n", encoding="utf-8")
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    (metadata / "RECORD").write_text(f"{name}.py,,\n{metadata.name}/RECORD,,\n", encoding="utf-8")

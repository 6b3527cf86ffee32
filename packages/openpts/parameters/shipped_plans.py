"""The plans that ship, by name: each is a TOML file under ``plans``, and is named nowhere else."""

from importlib import resources
from typing import Final

from openpts.did_you_mean import did_you_mean
from openpts.errors import UsageError

SUFFIX: Final = ".toml"
_FOLDER: Final = resources.files("openpts.parameters") / "plans"


def shipped_names() -> tuple[str, ...]:
    """Names of the plans that ship, in alphabetical order."""
    names = (file.name for file in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)))


def shipped_plan(name: str) -> bytes:
    """The file of a shipped plan. Raises UsageError, with the name that was probably meant."""
    names = shipped_names()
    if name not in names:
        known = f"plans that ship are {', '.join(names)}; a file's name ends in .toml, .yaml or .yml"
        raise UsageError(f"there is no plan {name!r}: {did_you_mean(name, names, known)}")
    return (_FOLDER / f"{name}{SUFFIX}").read_bytes()

"""What is kept between reports, since it takes long to make and is the same each time.

It lies in ``$XDG_CACHE_HOME/openpts`` (``~/.cache/openpts``); ``OPENPTS_CACHE=off`` keeps nothing. A folder
that can't be written only costs the time.
"""

import os
import tempfile
from pathlib import Path


def kept_folder() -> Path | None:
    """Where things are kept; None where nothing is to be."""
    if os.environ.get("OPENPTS_CACHE") == "off":
        return None
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # nobody's home
        return None
    return folder / "openpts"


def keep(path: Path, content: bytes) -> None:
    """Whole or not at all, since other reports may be made at the same time."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    except OSError:
        return

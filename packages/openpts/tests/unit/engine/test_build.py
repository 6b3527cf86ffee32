"""What the native module says of its own build."""

import os
import re
from pathlib import Path

import pytest

from openpts import _native
from tests import ROOT

LIBRARY = "libopenpts_native.so"


def profiles_of_this_build() -> set[str]:
    """Profiles in whose folder Cargo keeps the very library that is loaded."""
    loaded = Path(_native.__file__)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return {
        "dev" if built.parent.parent.name == "debug" else built.parent.parent.name
        for built in target.glob(f"*/deps/{LIBRARY}")
        if built.stat().st_size == loaded.stat().st_size and built.read_bytes() == loaded.read_bytes()
    }


def test_the_profile_is_the_one_that_was_built() -> None:
    profile = _native.build_info()["profile"]
    assert re.fullmatch(r"release|(dev|release) \(opt-level [0-3sz]\)", profile)
    built = profiles_of_this_build()
    if not built:
        pytest.skip("what Cargo built is not here any more")
    assert profile.partition(" ")[0] in built

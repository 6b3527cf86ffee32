"""Schemas of the files that operators write: they take what the manual shows, and refuse what readers do."""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import tomli_w

from docs.interface_schemas import OF_FILES
from openpts.errors import UsageError
from openpts_batch.chosen_drives import read_drives
from openpts_batch.fleet.configuration import read_fleet
from openpts_compare.limits.limits_file import read_limits
from tests import ROOT

BATCH: Final = ROOT / "packages" / "openpts_batch" / "docs"
PAGES: Final[dict[str, tuple[Path, Callable[[Path], Any]]]] = {
    "drives": (BATCH / "many-drives.md", read_drives),
    "fleet": (BATCH / "many-drives.md", read_fleet),
    "limits": (ROOT / "packages/openpts_compare/docs/gate.md", read_limits),
}
WRONG: Final = {
    "drives": ("[[drives]]\nslot = 3", "[[drives]]\nslot = '3'\nlabels = { 'a b' = '1' }", "drive = []"),
    "fleet": ("backend = 'lsf'", "[hosts.h1]\nruns = 1", "[hosts.h1]\nslots = { s1 = { } }", "color = 1"),
    "limits": (
        "require = ['cool']",
        "[statistics]\nmost_runs = 1",
        "limits = [{ at_least = 1 }]",
        "color = 1",
    ),
}


def example(name: str) -> str:
    page, _ = PAGES[name]
    (text,) = re.findall(rf"```toml\n(#:schema \./{name}\.schema\.json\n.*?)```", page.read_text(), re.DOTALL)
    return str(text)


def schema(name: str) -> jsonschema.Draft202012Validator:
    page, _ = PAGES[name]
    path = page.with_name(f"{name}.schema.json")
    assert path in OF_FILES
    return jsonschema.Draft202012Validator(json.loads(path.read_text()))


@pytest.mark.parametrize("name", PAGES)
def test_the_schema_takes_the_manuals_example(name, tmp_path) -> None:
    (tmp_path / "file.toml").write_text(example(name))
    PAGES[name][1](tmp_path / "file.toml")
    schema(name).validate(tomllib.loads(example(name)))


@pytest.mark.parametrize(("name", "wrong"), [(name, text) for name, texts in WRONG.items() for text in texts])
def test_the_schema_refuses_what_the_reader_refuses(name, wrong, tmp_path) -> None:
    content = tomllib.loads(example(name)) | tomllib.loads(wrong)
    assert not schema(name).is_valid(content)
    (tmp_path / "file.toml").write_text(tomli_w.dumps(content))
    with pytest.raises(UsageError):
        PAGES[name][1](tmp_path / "file.toml")

"""The table of the page on installing, against the blocks that `packaging/check-paths` types."""

import re
import tomllib

from tests import ROOT

_PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
_SECTIONS = dict(re.findall(r"^##+ (.+)\n((?:(?!^##).*\n)*)", _PAGE, re.MULTILINE))


def _commands(heading: str) -> int:
    blocks = re.findall(r"^```sh\n(.*?)^```", _SECTIONS[heading], re.MULTILINE | re.DOTALL)
    return len(re.findall(r"^[^ #\n]", "".join(blocks), re.MULTILINE))


def test_the_table_counts_the_commands_of_each_way() -> None:
    table = re.findall(r"^\| \[(.+)\]\(#(.+)\) \| (\d+) \| (\d+) \|$", _PAGE, re.MULTILINE)
    ways = re.findall(r"^### (.+)$", _PAGE, re.MULTILINE)
    assert [heading for heading, *_ in table] == ways
    for heading, anchor, commands, seconds in table:
        assert anchor == heading.lower().replace(" ", "-")
        assert int(commands) == _commands("From the wheelhouse") + _commands(heading), heading
        assert 0 < int(seconds) < 600, heading


def test_each_way_is_typed() -> None:
    script = (ROOT / "packaging/check-paths").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\bway '(.+?)'", script)) == sorted(
        re.findall(r"^### (.+)$", _PAGE, re.MULTILINE)
    )


def test_what_is_installed_is_pinned_by_hash_and_bounded_by_the_next_major_version() -> None:
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    assert [pin for pin in pins if not re.match(r"\S+==\S+( --hash=sha256:[0-9a-f]{64})+$", pin)] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = sum(project["optional-dependencies"].values(), project["dependencies"])
    assert [one for one in needed if not re.fullmatch(r"[\w.-]+>=[\d.]+,<\d+", one)] == []

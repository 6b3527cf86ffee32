"""What `openpts serve` refuses before it serves anything, and what pages without runs say."""

import re
import socket
import sys
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

pytest.importorskip("starlette", reason="needs openpts[web]")

from starlette.testclient import TestClient

from openpts.errors import UsageError
from openpts_web.comparing import Runs
from openpts_web.control import Plans
from openpts_web.index import Index
from openpts_web.safety import Rules
from openpts_web.serve import serve
from openpts_web.site import Site


def refused(*words: object) -> str:
    result = CliRunner().invoke(serve, list(map(str, words)), standalone_mode=False)
    assert isinstance(result.exception, UsageError), result.output
    return str(result.exception)


def test_what_makes_no_sense_is_refused(tmp_path, golden, monkeypatch) -> None:
    (tmp_path / "short").touch(0o600)
    (tmp_path / "short").write_text("secret\n")
    (tmp_path / "shown").write_text("a-token-that-others-can-read\n")
    (tmp_path / "shown").chmod(0o640)
    words = [
        refused(tmp_path / "nothing"),
        refused(tmp_path, "--plans", tmp_path),
        refused(tmp_path, "--token-file", tmp_path / "missing"),
        refused(tmp_path, "--token-file", tmp_path / "short"),
        refused(tmp_path, "--token-file", tmp_path / "shown"),
        refused(tmp_path, "--proxy", "lab.example.org"),
    ]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words.append(refused(tmp_path, "--port", port).replace(str(port), "PORT"))
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    words.append(refused(tmp_path))
    assert golden == "\n".join(words)


def test_another_address_has_a_token(tmp_path, monkeypatch) -> None:
    given: list[object] = []
    monkeypatch.setattr("openpts_web.server.run_server", lambda *_, rules, **__: given.append(rules.token))
    for words, wanted in ((["--address", "0.0.0.0"], True), (["--address", "::1"], False), ([], False)):
        result = CliRunner().invoke(serve, [str(tmp_path), *words], standalone_mode=False)
        assert result.exception is None
        assert (f"token: {given[-1]}" in result.output) is wanted
        assert (given[-1] is not None) is wanted


class _Words(HTMLParser):
    """The words of a page, those of an element on a line."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.feed(re.sub(r'value="[0-9a-f]{64}"', "", page))

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.append(" ".join(data.split()))


def test_pages_without_runs_say_what_to_do(tmp_path, golden) -> None:
    index = Index([str(tmp_path)], tmp_path / "index.db")
    plans = Plans(tmp_path, tmp_path)
    client = TestClient(
        Site(index, Runs(index), Rules.of("127.0.0.1", (), None), plans).application(),
        base_url="http://localhost",
    )
    (tmp_path / "lab.toml").write_text("")
    shown = []
    for path in (
        "/",
        "/?model=X100",
        "/gate",
        "/trends",
        "/plans",
        "/login",
        "/compare",
        "/runs/0",
        "/nothing",
    ):
        answer = client.get(path)
        shown.append(f"== {path} {answer.status_code}\n" + "\n".join(_Words(answer.text).words))
    assert golden == "\n\n".join(shown)

"""What those who reach the port can do to the server, which is a process of its own here."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs openpts[web]")

from starlette.testclient import TestClient

from openpts_web import safety
from openpts_web.comparing import Runs
from openpts_web.index import Index
from openpts_web.safety import Rules
from openpts_web.site import Site

TOKEN = "a-token-of-the-tests"
# with limits that a test can wait for
SERVES = """
import openpts_web.safety as safety
safety.FORM_S, safety.SESSION_S = 1.0, 2
safety.REQUESTS_AT_ONCE, safety._REQUESTS_PER_S = 20.0, 0.2
import openpts_web.connections as connections
connections.HEAD_S = float(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from openpts_web.serve import serve
serve()
"""


class Served:
    """A server, and what it has written into its log."""

    def __init__(self, port: int, log: Path) -> None:
        self.port, self._log = port, log

    @property
    def log(self) -> str:
        return self._log.read_text()

    def connection(self, client: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 20, source_address=(client, 0))

    def get(self, path: str, client: str = "127.0.0.1", **headers: str) -> int:
        asked = HTTPConnection("127.0.0.1", self.port, timeout=20, source_address=(client, 0))
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        asked.request("GET", path, headers=named)
        status = asked.getresponse().status
        asked.close()
        return status

    def answer(self, sent: bytes, client: str = "127.0.0.1") -> bytes:
        """All that comes until the server ends the connection."""
        with self.connection(client) as one:
            one.sendall(sent)
            received = b""
            with suppress(ConnectionResetError):
                while piece := one.recv(65536):
                    received += piece
        return received


@contextmanager
def served(place: Path, *options: object, head_s: float = 10.0) -> Iterator[Served]:
    (place / "runs").mkdir()
    log = place / "log"
    script = f"import resource, sys\n{SERVES}"
    words = [str(head_s), str(place / "runs"), "--port", "0", *map(str, options)]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-c", script, *words], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        said = process.stdout.readline()
        assert "serving" in said, log.read_text()
        try:
            yield Served(int(said.rsplit(":", 1)[1].strip("/\n")), log)
            assert process.poll() is None
        finally:
            process.terminate()


def is_ended(one: socket.socket) -> bool:
    try:
        return one.recv(4096) == b""
    except ConnectionResetError:
        return True


@pytest.mark.long("300 connections that never end their head")
def test_who_sends_a_byte_now_and_then_keeps_nobody_out(tmp_path) -> None:
    """300 that never end their head; others are answered, also from the same address, and the 300 end."""
    with served(tmp_path, head_s=2.0) as server, ExitStack() as stack:
        slow = [stack.enter_context(server.connection()) for _ in range(300)]
        for _ in range(4):
            for one in slow:
                with suppress(BrokenPipeError, ConnectionResetError):
                    one.send(b"G")
            for client in ("127.0.0.1", "127.0.0.2"):
                assert server.get("/static/library.js", client) == 200
            time.sleep(0.3)
        held = [one for one in slow if not _is_at_an_end(one)]
        assert 0 < len(held) <= 64
        assert all(map(is_ended, held))


def _is_at_an_end(one: socket.socket) -> bool:
    """Whether the server has ended it; does not wait."""
    one.setblocking(False)
    try:
        return is_ended(one)
    except BlockingIOError:
        return False
    finally:
        one.settimeout(20)


@pytest.mark.long("400 connections")
def test_more_connections_than_descriptors_stop_nothing(tmp_path) -> None:
    with served(tmp_path, head_s=2.0) as server, ExitStack() as stack:
        for number in range(400):
            one = stack.enter_context(server.connection(f"127.0.0.{1 + number % 100}"))
            with suppress(BrokenPipeError, ConnectionResetError):
                one.send(b"GET / HTTP/1.1\r\n")
        for _ in range(5):
            assert server.get("/api/runs", "127.0.1.1") == 200
        assert len(server.log) < 4096


def test_a_connection_that_is_used_stays_and_one_that_is_not_ends(tmp_path) -> None:
    with served(tmp_path, head_s=1.0) as server:
        asked = HTTPConnection("127.0.0.1", server.port, timeout=20)
        asked.connect()
        kept = asked.sock
        for _ in range(5):
            asked.request("GET", "/static/library.js")
            assert asked.getresponse().read()
            time.sleep(0.4)
        assert asked.sock is kept
        assert kept is not None
        assert is_ended(kept)
        asked.close()


def test_a_body_does_not_wait_for_the_client_to_acknowledge_its_head(tmp_path) -> None:
    with served(tmp_path, head_s=2.0) as server:
        asked = HTTPConnection("127.0.0.1", server.port, timeout=20)
        took_s = []
        for _ in range(10):
            began_s = time.monotonic()
            asked.request("GET", "/static/library.js")
            assert asked.getresponse().read()
            took_s.append(time.monotonic() - began_s)
        asked.close()
        assert min(took_s[1:]) < 0.03  # a delayed acknowledgement takes 40 ms


def test_a_client_behind_a_proxy_floods_itself_alone(tmp_path) -> None:
    with served(tmp_path, "--proxy", "127.0.0.1", head_s=1.5) as server:

        def flood(address: str, **headers: str) -> set[int]:
            asked = HTTPConnection("127.0.0.1", server.port, timeout=20, source_address=(address, 0))
            statuses = set()
            for _ in range(25):
                asked.request("GET", "/static/library.js", headers=headers)
                answer = asked.getresponse()
                answer.read()
                statuses.add(answer.status)
            asked.close()
            return statuses

        assert flood("127.0.0.1", **{"X-Forwarded-For": "198.51.100.7, 192.0.2.1"}) == {200, 429}
        assert server.get("/api/runs", x_forwarded_for="192.0.2.2") == 200
        assert server.get("/api/runs", x_forwarded_for="192.0.2.1") == 429
        # who is no proxy says nothing of whom it asks for
        assert flood("127.0.0.3", **{"X-Forwarded-For": "192.0.2.3"}) == {200, 429}
        assert server.get("/api/runs", "127.0.0.3", x_forwarded_for="192.0.2.4") == 429


def test_no_text_makes_the_server_fail(tmp_path) -> None:
    with served(tmp_path, head_s=1.5) as server:
        assert server.get("/?q=%00") == 400
        assert server.get("/runs/%00") == 404
        assert server.get("/api/trends?test=a&key=%00") == 400
        origin = f"http://127.0.0.1:{server.port}".encode()
        head = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: %s\r\n" % (server.port, origin)
        chunks = b"".join(b"4000\r\n%s\r\n" % (b"x" * 0x4000) for _ in range(5)) + b"0\r\n\r\n"
        chunked = head + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        assert server.answer(chunked + chunks).startswith(b"HTTP/1.1 413 ")
        assert server.answer(head + b"Content-Length: 9\r\n\r\ntoken").startswith(b"HTTP/1.1 408 ")
        with server.connection() as gone:
            gone.sendall(head + b"Content-Length: 9\r\n\r\ntoken")
        assert server.get("/api/runs") == 200
        assert server.log == ""


def test_what_is_no_request_writes_few_lines_into_the_log(tmp_path) -> None:
    with served(tmp_path) as server:
        for _ in range(200):
            assert server.answer(b"\x00\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert 1 <= len(server.log.splitlines()) <= 5


def test_a_session_ends_and_a_token_has_its_scheme(tmp_path) -> None:
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(TOKEN)
    with served(tmp_path, "--token-file", token) as server:
        for given, status in (
            (f"Bearer {TOKEN}", 200),
            (f"bearer {TOKEN}", 200),
            (TOKEN, 401),
            (f"Basic {TOKEN}", 401),
            (f"Bearer{TOKEN}", 401),
            ("Bearer", 401),
        ):
            assert server.get("/api/runs", authorization=given) == status
        body = f"token={TOKEN}".encode()
        origin = f"127.0.0.1:{server.port}".encode()
        answer = server.answer(
            b"POST /login HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (origin, origin, len(body), body)
        ).decode()
        cookie = answer.partition("set-cookie: ")[2].partition(";")[0]
        assert "Max-Age=2;" in answer
        assert server.get("/api/runs", cookie=cookie) == 200
        time.sleep(3)
        assert server.get("/api/runs", cookie=cookie) == 401


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "192.0.2.1", "192.0.2.1"),
        ("127.0.0.1", "198.51.100.1, 192.0.2.1,10.0.0.9", "192.0.2.1"),
        ("127.0.0.1", "192.0.2.1, nonsense", "127.0.0.1"),
        ("127.0.0.1", "2001:db8::1:2:3:4", "2001:db8::/64"),
        ("192.0.2.9", "192.0.2.1", "192.0.2.9"),
        ("2001:db8:0:1:ffff::1", "192.0.2.1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "", "fe80::/64"),
        ("", "192.0.2.1", ""),
    ],
)
def test_whom_a_request_counts_for(peer, forwarded, client) -> None:
    rules = Rules.of("127.0.0.1", (), None, ("127.0.0.1", "10.0.0.0/8"))
    assert rules.client_of(peer, forwarded) == client
    assert Rules.of("127.0.0.1", (), None).client_of("192.0.2.1", "192.0.2.2") == "192.0.2.1"


def test_any_byte_in_any_field_is_answered(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(safety, "REQUESTS_AT_ONCE", 1000.0)
    (tmp_path / "runs").mkdir()
    index = Index([str(tmp_path / "runs")], tmp_path / "index.db")
    client = TestClient(
        Site(index, Runs(index), Rules(frozenset({"localhost"}))).application(), base_url="http://localhost"
    )
    fields = "q test model serial firmware state verdict label since until sort order page key by run limit"
    for path in ("/", "/api/runs", "/api/trends", "/trends", "/gate", "/api/gate", "/compare"):
        for byte in (0, 10, 34, 42, 127, 255):
            query = "&".join(f"{name}=a%{byte:02x}b" for name in fields.split())
            assert client.get(f"{path}?{query}").status_code in {200, 400, 404}
        for name in fields.split() if path.startswith("/api/") else ():
            assert client.get(f"{path}?{name}=%01%22%27*").status_code in {200, 400, 404}

"""Who is let in, what pages may do, and that nothing but the library can be reached."""

import shutil
import socket
import subprocess
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

from openpts.ownership import CLAIM_NAME, is_locked
from openpts_web import safety
from openpts_web.comparing import Runs
from openpts_web.control import Plans
from openpts_web.index import Index
from openpts_web.safety import COOKIE, LARGEST_BODY, LONGEST_ADDRESS, Rules
from openpts_web.site import Site
from openpts_web.tests.simulated.conftest import HOST
from openpts_web.tests.simulated.test_api import ids
from tests.support.library_runs import copied_run

ORIGIN = f"http://{HOST}"
TOKEN = "a-token-of-the-tests"


def client_of(
    site: Site, *, token: str | None = None, plans: Plans | None = None, name: str = HOST
) -> TestClient:
    own = Site(site.index, site.runs, Rules.of("127.0.0.1", (), token), plans)
    return TestClient(own.application(), base_url=f"http://{name}", follow_redirects=False)


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "[::1", ""]
)
def test_a_name_that_leads_here_by_a_trick_of_dns_is_refused(client: TestClient, name: str) -> None:
    assert client.get("/", headers={"host": name}).status_code == 421
    assert client.get("/api/runs", headers={"host": name}).status_code == 421


@pytest.mark.parametrize("name", ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "LOCALHOST"])
def test_names_of_this_machine_are_its_own(client: TestClient, name: str) -> None:
    assert client.get("/api/runs", headers={"host": name}).status_code == 200


@pytest.mark.parametrize(
    ("address", "name", "status"),
    [
        ("0.0.0.0", "10.0.0.5:8080", 200),
        ("::", "[fe80::1]:8080", 200),
        ("0.0.0.0", socket.gethostname(), 200),
        ("0.0.0.0", "evil.example", 421),
        ("0.0.0.0", "lab.example", 200),
        ("10.0.0.5", "10.0.0.5", 200),
        ("10.0.0.5", "10.0.0.6", 421),
        ("127.0.0.1", "10.0.0.5", 421),
    ],
)
def test_a_server_on_all_addresses_is_called_by_any(site: Site, address: str, name: str, status: int) -> None:
    own = Site(site.index, site.runs, Rules.of(address, ("lab.example",), None))
    client = TestClient(own.application(), base_url="http://x")
    assert client.get("/api/runs", headers={"host": name}).status_code == status


def test_every_answer_has_the_policy(client: TestClient) -> None:
    for path in ("/", "/trends", "/gate", "/login", "/nothing", "/runs/0", "/static/style.css", "/api/runs"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_a_report_runs_apart(client: TestClient) -> None:
    run_id = ids(client)["tlc-1"]
    policy = client.get(f"/runs/{run_id}/files/report.html").headers["content-security-policy"]
    assert policy.startswith("sandbox ")
    assert "allow-same-origin" not in policy
    pdf = client.get(f"/runs/{run_id}/files/report.pdf").headers
    assert pdf["content-disposition"].startswith("attachment")
    assert "sandbox" in pdf["content-security-policy"]


@pytest.mark.parametrize(
    "name",
    ["../qlc-1/run.db", "..%2Fqlc-1%2Frun.db", "%2e%2e/qlc-1/run.db", "claim.jsonl", "/etc/passwd",
     "data/../../qlc-1/run.db", "report.html/../run.db%00"],
)  # fmt: skip
def test_no_path_leads_out_of_a_run(client: TestClient, name: str) -> None:
    run_id = ids(client)["tlc-1"]
    answer = client.get(f"/runs/{run_id}/files/{name}")
    assert answer.status_code in {404, 307}
    assert b"SQLite" not in answer.content


def test_no_link_is_followed(library: Path, tmp_path: Path) -> None:
    """Neither as a run, nor as a file, nor as the folder of files."""
    place, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    shutil.copytree(library / "tlc-2", place / "own")
    shutil.copytree(library / "tlc-2", elsewhere / "other")
    (elsewhere / "secret.csv").write_text("secret")
    (place / "linked").symlink_to(elsewhere / "other")
    (place / "own" / "data").symlink_to(elsewhere)
    (place / "own" / "report.pdf").symlink_to(elsewhere / "secret.csv")
    index = Index([str(place)], tmp_path / "index.db")
    client = client_of(Site(index, Runs(index), Rules.of("127.0.0.1", (), None)))
    found = ids(client)
    assert found.keys() == {"own"}
    for name in ("report.pdf", "data/secret.csv"):
        assert client.get(f"/runs/{found['own']}/files/{name}").status_code == 404


def test_without_the_token_nothing_is_seen(site: Site) -> None:
    client = client_of(site, token=TOKEN)
    assert client.get("/").headers["location"] == "/login"
    for path in ("/api/runs", "/api/openapi.json", f"/api/runs/{ids(client_of(site))['tlc-1']}/events"):
        assert client.get(path).status_code == 401
    assert client.get("/api/runs", headers={"authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/api/runs", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_the_token_opens_a_session(site: Site) -> None:
    client = client_of(site, token=TOKEN)
    given = {"token": "wrong"}
    assert client.post("/login", data={"token": TOKEN}, headers={"origin": "http://x"}).status_code == 403
    assert client.post("/login", data=given, headers={"origin": ORIGIN}).status_code == 403
    answer = client.post("/login", data=given | {"token": TOKEN}, headers={"origin": ORIGIN})
    assert answer.status_code == 303
    assert {"HttpOnly", "SameSite=Strict"} <= set(answer.headers["set-cookie"].split("; "))
    assert client.get("/").status_code == 200
    name = client.cookies[COOKIE].partition(".")[0]
    forged = client_of(site, token=TOKEN)
    forged.cookies.set(COOKIE, f"{name}.{'0' * 64}")
    assert forged.get("/api/runs").status_code == 401


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null", f"http://{HOST}:1"])
def test_a_form_from_elsewhere_is_refused(site: Site, origin: str | None, tmp_path: Path) -> None:
    client = client_of(site, plans=Plans(tmp_path, tmp_path))
    (tmp_path / "plan.toml").write_text("")
    given = {"plan": "plan.toml", "target": "sim:x", "serial": ""}
    assert "type the serial number" in client.post("/plans", data=given, headers={"origin": ORIGIN}).text
    headers = {} if origin is None else {"origin": origin}
    assert client.post("/plans", data=given, headers=headers).status_code == 403
    assert "not sent from a page" in client.post("/plans", data=given, headers=headers).text


def test_without_allow_control_nothing_can_be_changed(client: TestClient) -> None:
    assert client.get("/plans").status_code == 403
    stop = f"/runs/{ids(client)['tlc-1']}/stop"
    assert client.post(stop, headers={"origin": ORIGIN}).status_code == 403
    for path in ("/", "/api/runs", "/compare", "/gate", "/trends"):
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            assert client.request(method, path).status_code == 405


def test_sizes_have_limits(site: Site) -> None:
    client = client_of(site)
    assert client.get("/", params={"q": "w" * LONGEST_ADDRESS}).status_code == 414
    assert client.post("/login", content=b"x" * (LARGEST_BODY + 1)).status_code == 413


def test_a_client_has_so_many_requests_at_once_and_fifty_a_second(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 1000.0
    monkeypatch.setattr(safety, "time", SimpleNamespace(monotonic=lambda: now_s))
    monkeypatch.setattr(safety, "REQUESTS_AT_ONCE", 60.0)
    client = client_of(site)

    def answered() -> int:
        return next(n for n in count() if client.get("/static/library.js").status_code == 429)

    assert answered() == 60
    now_s += 1
    assert answered() == 50


HOLDS_A_CLAIM = """
import sys, time
from pathlib import Path
from openpts.ownership import RunOwner, folder_claimed, new_run_id
from openpts.system_files import SystemRoots
owner = RunOwner.this_process(new_run_id(), "sim:x", (), SystemRoots())
with folder_claimed(Path(sys.argv[1]), owner):
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        sys.exit(130)
"""


def test_a_run_in_progress_is_stopped_as_by_ctrl_c(library: Path, tmp_path: Path) -> None:
    folder = copied_run(library / "tlc-2", tmp_path / "runs" / "now", state="running", ended_at=None)
    index = Index([str(tmp_path / "runs")], tmp_path / "index.db")
    rules = Rules.of("127.0.0.1", (), None)
    site = Site(index, Runs(index), rules, Plans(tmp_path, tmp_path))
    client = TestClient(site.application(), base_url=f"http://{HOST}", follow_redirects=False)
    with subprocess.Popen([sys.executable, "-c", HOLDS_A_CLAIM, str(folder)]) as process:
        while not is_locked(folder / CLAIM_NAME) or not (folder / CLAIM_NAME).read_bytes():
            assert process.poll() is None
        page = f"/runs/{ids(client)['now']}"
        assert client.post(f"{page}/stop", headers={"origin": ORIGIN}).status_code == 303
        assert process.wait(20) == 130
    answer = client.post(f"{page}/stop", headers={"origin": ORIGIN})
    assert answer.status_code == 422
    assert "not running" in answer.text

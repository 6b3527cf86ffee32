from pathlib import Path

import pytest

from tests.support.library_runs import QLC, TLC, copied_run, made_run
from tests.support.limited_runs import invoke
from tests.support.synthetic_run import HOSTILE

pytest.importorskip("starlette", reason="needs openpts[web]")

from starlette.testclient import TestClient

from openpts_web.comparing import Runs
from openpts_web.index import Index
from openpts_web.safety import Rules
from openpts_web.site import Site

HOST = "localhost"
LOTS = ((1, "A", "1.0"), (2, "A", "1.0"), (3, "A", "1.0"), (4, "B", "1.1"), (5, "B", "1.1"), (6, "B", "1.1"))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tests on two drives, six copies in two lots, and one whose texts are hostile."""
    place = tmp_path_factory.mktemp("library") / "runs"
    first = made_run(place / "tlc-1", "lat", TLC, "--seed", 1, "--label", "lot=A", "--no-report")
    assert invoke("report", first, "--no-pdf")[0] is None
    (first / "report.pdf").write_bytes(b"%PDF-1.7, as far as a server looks at it")
    same = [
        first,
        *(made_run(place / f"tlc-{seed}", "lat", TLC, "--seed", seed, "--no-report") for seed in (2, 3)),
    ]
    made_run(place / "qlc-1", "lat", QLC, "--seed", 1, "--no-report")
    made_run(place / "qlc-2", "lat", QLC, "--seed", 2, "--no-report")
    for number, lot, firmware in LOTS:
        copied_run(
            same[number % 3],
            place / "lots" / f"drive-{number}",
            test_id=f"lot-{number}",
            started_at=f"2026-0{number}-01T00:00:00+00:00",
            dut={"model": "X100", "serial": f"S{number:04}", "firmware": firmware},
            people={"labels": {"lot": lot}},
        )
    copied_run(
        first,
        place / "hostile",
        test_id=f"hostile {HOSTILE}",
        dut={"model": HOSTILE, "serial": HOSTILE, "firmware": HOSTILE},
        people={"operator": HOSTILE, "labels": {"lot": "<img src=x onerror=alert(2)>"}},
    )
    (place / "unreadable").mkdir()
    (place / "unreadable" / "run.db").write_bytes(b"SQLite format 3\0 and then nothing of the kind")
    return place


@pytest.fixture(scope="session")
def site(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    index = Index([str(library)], tmp_path_factory.mktemp("index") / "index.db")
    index.wait()
    return Site(index, Runs(index), Rules.of("127.0.0.1", (), None))


@pytest.fixture(scope="session")
def client(site: Site) -> TestClient:
    return TestClient(site.application(), base_url=f"http://{HOST}")

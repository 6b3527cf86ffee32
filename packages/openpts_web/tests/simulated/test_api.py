"""The interface beside what openpts says of the same runs by other ways, and against its own description."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from starlette.testclient import TestClient

import openpts
from openpts_compare.compare.figures import comparison_document
from openpts_compare.gate.documents import GateDocument
from openpts_compare.limits.limits_file import Allowed
from openpts_web.comparing import Runs
from openpts_web.index import Index
from openpts_web.safety import Rules
from openpts_web.site import OPERATIONS, Site
from openpts_web.tests.simulated.conftest import LOTS
from tests.support.library_runs import TLC, made_run
from tests.support.limited_runs import ALLOW
from tests.support.synthetic_run import HOSTILE


def got(client: TestClient, path: str, *, status: int = 200, **query: Any) -> Any:
    """The answer, which its description admits."""
    answer = client.get(path, params=query)
    assert answer.status_code == status, answer.text
    described = client.get("/api/openapi.json").json()
    known = next((one for one in described["paths"] if _fits(one, path)), None)
    assert known is not None, path
    responses = described["paths"][known]["get"]["responses"]
    schema = responses["200" if status == 200 else "default"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": described["components"]}
    jsonschema.Draft202012Validator(whole).validate(answer.json())
    return answer.json()


def _fits(template: str, path: str) -> bool:
    parts, given = template.split("/"), path.split("/")
    return len(parts) == len(given) and all(a == b or a == "{id}" for a, b in zip(parts, given, strict=True))


def ids(client: TestClient, **query: Any) -> dict[str, str]:
    """Ids of the selected runs by the names of their folders."""
    runs = got(client, "/api/runs", **query)["runs"]
    return {Path(one["place"]).name: one["id"] for one in runs}


@pytest.mark.slow
def test_the_list_has_each_run_once_with_what_its_record_says(client: TestClient, library: Path) -> None:
    found = got(client, "/api/runs")
    by_name = {Path(one["place"]).name: one for one in found["runs"]}
    assert found["count"] == len(by_name) == 13
    assert found["unread"] == 0
    for name, one in by_name.items():
        if name == "unreadable":
            assert one["state"] == "unreadable"
            assert one["reason"]
            continue
        run = openpts.read_run(one["place"])
        assert one["run"] == run.manifest.test_id
        assert one["started_at"] == run.manifest.started_at
        assert one["deviations"] == len(run.ledger)
        assert one["labels"] == run.manifest.people.labels
        first = next(each for each in openpts.measures(run) if each.is_key and each.value is not None)
        assert one["answer"] == f"{first.label}: {first.text} {first.unit}"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({"model": "X100"}, {f"drive-{number}" for number, _, _ in LOTS}),
        ({"firmware": "1.1"}, {"drive-4", "drive-5", "drive-6"}),
        ({"label": "lot=A"}, {"tlc-1", "drive-1", "drive-2", "drive-3"}),
        ({"q": "client qlc"}, {"qlc-1", "qlc-2"}),
        ({"q": "s0003"}, {"drive-3"}),
        ({"q": "X10"}, {f"drive-{number}" for number, _, _ in LOTS}),
        ({"q": '"'}, None),
        ({"q": 'nothing" OR "like it'}, set()),
        ({"since": "2026-02-01", "until": "2026-03-01"}, {"drive-2", "drive-3"}),
        ({"until": "2026-02"}, {"drive-1", "drive-2"}),
        ({"state": "unreadable"}, {"unreadable"}),
        ({"model": "' OR 1=1 --"}, set()),
    ],
)
def test_filters_select_what_they_say(
    client: TestClient, query: dict[str, str], wanted: set[str] | None
) -> None:
    assert ids(client, **query).keys() == (ids(client).keys() if wanted is None else wanted)


def test_sorting_orders_both_ways(client: TestClient) -> None:
    for column in ("started_at", "run", "model"):
        up = [one[column] for one in got(client, "/api/runs", model="X100", sort=column, order="up")["runs"]]
        down = [one[column] for one in got(client, "/api/runs", model="X100", sort=column)["runs"]]
        assert up == sorted(up)
        assert down == sorted(down, reverse=True)


@pytest.mark.parametrize(
    "query", [{"sort": "page"}, {"order": "sideways"}, {"page": "one"}, {"colour": "red"}]
)
def test_a_filter_that_makes_no_sense_is_refused(client: TestClient, query: dict[str, str]) -> None:
    assert got(client, "/api/runs", status=400, **query)["exit_code"] == openpts.UsageError.exit_code


def test_a_run_has_all_of_its_measures_and_its_files(client: TestClient, library: Path) -> None:
    run_id = ids(client)["tlc-1"]
    page = got(client, f"/api/runs/{run_id}")
    run = openpts.read_run(library / "tlc-1")
    assert {one["key"]: one["value"] for one in page["figures"]} == {
        m.key: m.value for m in openpts.measures(run)
    }
    assert {one["name"] for one in page["files"]} >= {"report.html", "report.pdf", "report.json", "run.db"}
    for one in page["files"]:
        content = client.get(f"/runs/{run_id}/files/{one['name']}").content
        assert content == (library / "tlc-1" / one["name"]).read_bytes()
        assert len(content) == one["size_bytes"]
    got(client, "/api/runs/0000000000000000", status=404)


def test_a_comparison_is_that_of_the_command(client: TestClient, library: Path) -> None:
    names = ("tlc-1", "tlc-2", "qlc-1", "qlc-2")
    found = ids(client)
    given = got(client, "/api/compare", run=[found[name] for name in names])
    wanted = comparison_document(openpts.compare([library / name for name in names]), ())
    assert given == msgspec.json.decode(msgspec.json.encode(wanted))
    assert given["differences"]
    sets = got(
        client, "/api/compare", run=[found[n] for n in names], name=["old", "old", "new", "new"], base="new"
    )
    assert sets["names"] == ["new", "old"]


def test_what_cannot_be_compared_is_refused(client: TestClient) -> None:
    found = ids(client)
    got(client, "/api/compare", status=400)
    got(client, "/api/compare", status=400, run=[found["tlc-1"]])
    got(client, "/api/compare", status=400, run=[found["tlc-1"], found["tlc-1"]])
    got(client, "/api/compare", status=422, run=[found["tlc-1"], found["unreadable"]])
    got(client, "/api/compare", status=400, run=[found["tlc-1"], "0000000000000000"])


def test_verdicts_are_those_of_the_gate(client: TestClient, library: Path) -> None:
    found = ids(client)
    limits = ["lat.rnd-4k-rw0.art <= 1", "lat.rnd-4k-rw100.art <= 0.000001"]
    given = got(client, "/api/gate", run=[found["tlc-1"]], limit="\n".join(limits), allow=["deviations"])
    wanted = openpts.gate([library / "tlc-1"], limits, allow=["deviations"])
    assert [one["judgement"] for one in given["limits"]] == [one.judgement for one in wanted.judged]
    assert given["verdict"] == wanted.verdict == "fail"
    assert given == msgspec.json.decode(msgspec.json.encode(GateDocument.by(wanted, (), ()))) | {
        "runs": [str(library / "tlc-1")]
    }
    got(client, "/api/gate", status=400, run=[found["tlc-1"]], limit="lat.nothing-like-it <= 1 parsec")
    got(client, "/api/gate", status=400, limit="lat.rnd-4k-rw0.art <= 1")


def test_each_word_of_the_gate_can_be_allowed(client: TestClient) -> None:
    page = client.get("/gate").text
    for word in Allowed:
        assert f'name="allow" value="{word}"' in page
        given = {"run": [ids(client)["tlc-1"]], "limit": "lat.rnd-4k-rw0.art <= 1", "allow": [word]}
        assert got(client, "/api/gate", **given)["allowed"] == [word]


def test_trends_have_the_limits_of_an_individuals_chart(client: TestClient, library: Path) -> None:
    key = "rnd_4_kib_rw0.art"
    given = got(client, "/api/trends", test="lat", key=key, by="label.lot", model="X100")
    assert [one["group"] for one in given["limits"]] == ["A", "B"]
    assert [one["run"] for one in given["points"]] == [f"lot-{number}" for number, _, _ in LOTS]
    everything = got(client, "/api/trends", test="lat", key=key)
    values = [one["value"] for one in everything["points"]]
    assert len(values) == 12
    (limits,) = everything["limits"]
    exact = [Fraction(value) for value in values]
    moving = sum(abs(b - a) for a, b in pairwise(exact)) / (len(exact) - 1)
    assert limits["mean"] == pytest.approx(float(sum(exact) / len(exact)), rel=1e-12)
    assert limits["high"] - limits["mean"] == pytest.approx(2.66 * float(moving), rel=1e-12)
    assert limits["mean"] - limits["low"] == pytest.approx(2.66 * float(moving), rel=1e-12)
    got(client, "/api/trends", status=400, test="lat", key="nothing")
    got(client, "/api/trends", status=400)


def test_texts_of_drives_are_texts_of_the_interface(client: TestClient) -> None:
    one = next(one for one in got(client, "/api/runs")["runs"] if one["place"].endswith("hostile"))
    assert "<script>" in one["model"]
    assert HOSTILE not in one["model"]  # what leaves no trace is written out
    assert "\u202e" not in one["model"]


def test_each_address_is_described(site: Site, client: TestClient) -> None:
    served = {route.path for route in site.application()._app.routes if route.path.startswith("/api/")}
    assert served == {*OPERATIONS, "/api/openapi.json"}
    assert client.get("/api/openapi.json").json()["openapi"] == "3.1.0"


def test_verdicts_on_a_runs_own_limits_are_in_list_and_page(tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text(f'{ALLOW}limits = ["lat.rnd-4k-rw0.art <= 1 ms"]\n')
    made_run(tmp_path / "runs" / "own", "lat", TLC, "--no-report", "--limits", tmp_path / "limits.toml")
    index = Index([str(tmp_path / "runs")], tmp_path / "index.db")
    site = Site(index, Runs(index), Rules.of("127.0.0.1", (), None))
    client = TestClient(site.application(), base_url="http://localhost")
    (one,) = got(client, "/api/runs", verdict="pass")["runs"]
    page = got(client, f"/api/runs/{one['id']}")
    assert [limit["name"] for limit in page["limits"]] == ["lat.rnd_4_kib_rw0.art"]
    assert got(client, "/api/runs", verdict="fail")["count"] == 0
    assert "at most 1 ms" in client.get(f"/runs/{one['id']}").text

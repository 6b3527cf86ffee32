"""Messages about a run: what is sent to a service that exists, fails, hangs, or is not there."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.errors import RunFailedError, UsageError
from openpts.procedures.registry import PROCEDURES
from openpts.record.writer import DATABASE_NAME
from openpts.runner.events import LimitsJudged, ProgramEnded
from openpts.runner.run import run_test
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_line.exchange.notify import Message, Messages, Notifier, notifier, services_in
from tests.simulated.killed_run import ordered, small
from tests.support.message_service import Service

SECRET = "s3cret-token"


@pytest.mark.parametrize(
    ("judgement", "kind"),
    [(Judgement.FAIL, "failure"), (Judgement.NO_VERDICT, "warning"), (Judgement.PASS, "success")],
)
def test_a_verdict_says_what_was_found(judgement: Judgement, kind: str) -> None:
    limit = JudgedLimit("iops.rnd_4_kib_rw0.iops", "at least 6 IOPS", judgement, unit="IOPS", value=5.5)
    message = Messages().of(LimitsJudged((limit,)))
    assert message is not None
    assert (message.kind.value, message.title) == (kind, f"openpts: limits: 1 {judgement}")
    kept = judgement is Judgement.PASS
    assert message.body == ("" if kept else f"{judgement}: {limit.name} {limit.limit}: measured 5.5 IOPS")


@pytest.fixture
def service() -> Iterator[Service]:
    server = Service()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def of_service(folder: Path, service: Service) -> Notifier:
    path = folder / "services"
    path.write_text(f"# the laboratory\n\njson://127.0.0.1:{service.server_port}/{SECRET}\n")
    made = notifier(path)
    made.pauses_s = (0.01, 0.01)
    return made


def test_a_run_says_when_it_starts_is_steady_and_ends(tmp_path: Path, service: Service) -> None:
    sender = of_service(tmp_path, service)
    with sender.sending() as on_event:
        folder = run_test(PROCEDURES["tp"], small(tmp_path), [on_event]).folder
    titles = [(message["title"].split(": ")[1], message["type"]) for message in service.received]
    assert titles == [("run started", "info"), ("steady", "info"), ("run complete", "success")]
    assert sender.unsent == 0
    record = (folder / DATABASE_NAME).read_bytes()
    assert SECRET.encode() not in record


def test_a_failure_says_where(tmp_path: Path, service: Service) -> None:
    order = replace(ordered("tp", tmp_path / "run"), hooks=("run-start=false",))
    sender = of_service(tmp_path, service)
    with sender.sending() as on_event, pytest.raises(RunFailedError):
        run_test(PROCEDURES["tp"], order, [on_event])
    assert [message["type"] for message in service.received] == ["info", "warning", "failure"]
    assert service.received[-1]["message"] == "--hook run-start: 'false': exit code 1"


def test_a_service_that_fails_is_asked_again(tmp_path: Path, service: Service) -> None:
    service.failures = 2
    sender = of_service(tmp_path, service)
    with sender.sending() as on_event:
        on_event(ProgramEnded(3, "no such target"))
    assert [message["message"] for message in service.received] == ["no such target"]
    assert sender.unsent == 0
    service.failures = 3
    with sender.sending() as on_event:
        on_event(ProgramEnded(3, "no such target"))
    assert (len(service.received), sender.unsent) == (1, 1)


def test_a_service_that_hangs_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openpts_line.exchange.notify._LONGEST_END_S", 0.2)
    released = threading.Event()

    def hang(_message: Message) -> bool:
        return released.wait(60)

    sender = Notifier(hang)
    began_s = time.monotonic()
    with sender.sending() as on_event:
        for _ in range(200):
            on_event(ProgramEnded(3, "text"))
    assert time.monotonic() - began_s < 5
    assert sender.unsent == 200
    released.set()


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", "names no service: write a URL a line, such as ntfy://TOPIC"),
        (f"# one\nnothing://{SECRET}\n", "line 2: no URL of a service that Apprise knows"),
    ],
)
def test_a_file_without_a_service_is_refused_without_its_secret(
    tmp_path: Path, text: str, refusal: str
) -> None:
    (tmp_path / "services").write_text(text)
    with pytest.raises(UsageError) as refused:
        services_in(tmp_path / "services")
    assert str(refused.value).endswith(refusal)
    assert SECRET not in str(refused.value)


def test_the_services_that_the_manual_names_are_known(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/interfaces.md").read_text()
    urls = page.partition("<!-- services -->")[2].partition("```text\n")[2].partition("```")[0].split("\n")
    (tmp_path / "services").write_text("\n".join(url.partition("  ")[0] for url in urls))
    assert len(services_in(tmp_path / "services")) == 5

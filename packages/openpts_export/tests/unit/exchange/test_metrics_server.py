"""Clients of the metrics, of which some are slow: they cost a run no more than a few threads and sockets."""

import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from openpts.errors import UsageError
from openpts.procedures.registry import PROCEDURES
from openpts.runner.run import run_test
from openpts_export import metrics_server
from openpts_export.metrics import RunMetrics
from openpts_export.metrics_server import MOST_CLIENTS, served_metrics
from tests.support.free_ports import free_ports
from tests.support.killed_run import ordered
from tests.support.processes import until

SLOW = 100
BEGUN = b"GET /metrics HTTP/1.1\r\nHost: here\r\nX-Slow: "


class One(Collector):
    """A single metric."""

    def collect(self) -> Iterator[Metric]:
        gauge = GaugeMetricFamily("one", "It is 1.")
        gauge.add_metric([], 1)
        yield gauge


def scraped(port: int, host: str = "127.0.0.1") -> str:
    with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=30) as answer:
        return str(answer.read().decode())


@contextmanager
def slow_clients(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Clients that begin a request and do not end it."""
    with ExitStack() as held:
        clients = []
        for _ in range(count):
            client = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            client.sendall(BEGUN)
            clients.append(client)
        yield clients


def is_dropped(client: socket.socket) -> bool:
    """Whether the server has closed the connection; it never answers what is only begun."""
    client.setblocking(False)
    try:
        client.sendall(b"x")
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_many_slow_clients_take_few_threads_and_no_answer_from_others() -> None:
    [port] = free_ports(1)
    threads = threading.active_count()
    with served_metrics("127.0.0.1", port, One()):
        with slow_clients(port, SLOW) as clients:
            for _ in range(20):
                assert "one 1.0" in scraped(port)
                assert threading.active_count() <= threads + MOST_CLIENTS + 1
            assert sum(not is_dropped(client) for client in clients) <= MOST_CLIENTS
        assert "one 1.0" in scraped(port)
    assert threading.active_count() == threads


def test_a_client_that_sends_a_byte_now_and_then_has_a_limited_time(monkeypatch) -> None:
    monkeypatch.setattr(metrics_server, "_LONGEST_S", 0.5)
    [port] = free_ports(1)
    with served_metrics("127.0.0.1", port, One()), slow_clients(port, 1) as (client,):
        until(lambda: is_dropped(client), "its end", 30)


def test_a_client_that_reads_nothing_has_a_limited_time(monkeypatch) -> None:
    class Large(Collector):
        def collect(self) -> Iterator[Metric]:
            gauge = GaugeMetricFamily("large", "More than the kernel buffers.", labels=["number"])
            for number in range(10_000):
                gauge.add_metric([f"{number:01000}"], 1)
            yield gauge

    monkeypatch.setattr(metrics_server, "_LONGEST_S", 0.5)
    [port] = free_ports(1)
    threads = threading.active_count()
    began_s = time.monotonic()
    with served_metrics("127.0.0.1", port, Large()), socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        client.recv(1)
    assert threading.active_count() == threads
    assert time.monotonic() - began_s < 60


def test_open_connections_do_not_hold_up_the_end_of_a_run() -> None:
    [port] = free_ports(1)
    with ExitStack() as held:
        with served_metrics("127.0.0.1", port, One()):
            held.enter_context(slow_clients(port, MOST_CLIENTS))
            assert "one 1.0" in scraped(port)
            began_s = time.monotonic()
        assert time.monotonic() - began_s < 30


def test_clients_that_break_off_print_nothing(capfd) -> None:
    [port] = free_ports(1)
    with served_metrics("127.0.0.1", port, One()):
        for request in (b"", b"\x00\xff\r\n\r\n", b"GET", b"GET /metrics HTTP/1.0\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
                client.sendall(request)
        assert "one 1.0" in scraped(port)
    assert capfd.readouterr() == ("", "")


def test_a_run_is_answered_for_while_slow_clients_come_and_stay(tmp_path) -> None:
    [port] = free_ports(1)
    metrics = RunMetrics()
    scrapes: list[str] = []

    def with_listener(folder: Path, *listeners: Callable[..., None]) -> object:
        return run_test(PROCEDURES["tp"], ordered("tp", folder), listeners).cycles

    alone = with_listener(tmp_path / "alone")
    with served_metrics("127.0.0.1", port, metrics), slow_clients(port, SLOW):
        found = with_listener(
            tmp_path / "run",
            metrics.on_event,
            lambda _: scrapes.append(scraped(port)) if len(scrapes) < 20 else None,
        )
    assert found == alone
    assert 'openpts_run_state{openpts_run_state="running"' in scrapes[-1]


def test_an_address_of_ipv6_is_served() -> None:
    [port] = free_ports(1)
    with served_metrics("::1", port, One()):
        assert "one 1.0" in scraped(port, "[::1]")


def test_an_address_that_is_in_use_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(
                UsageError, match=f"can't serve --metrics 127.0.0.1:{port}: Address already in use"
            ),
            served_metrics("127.0.0.1", port, One()),
        ):
            pass

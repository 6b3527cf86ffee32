"""Serves metrics by HTTP, at a bounded price for the run beside it.

A run lasts for days, and clients that begin a request and never end it would each keep a thread and a
socket of it. There are so many at most, each for a while: a new one takes the place of the oldest.
"""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.registry import Collector

from openpts.errors import UsageError, failing_as

MOST_CLIENTS: Final = 16
"""How many are served at a time."""

_LONGEST_S: Final = 10.0  # for which Prometheus waits, unless configured otherwise
_POLL_S: Final = 0.25


@contextmanager
def served_metrics(address: str, port: int, metrics: Collector) -> Iterator[None]:
    """Serve the metrics at ``/metrics`` until the end. Raises UsageError if the address can't be had."""
    registry = CollectorRegistry()
    registry.register(metrics)
    with failing_as(UsageError, f"can't serve --metrics {address}:{port}"):
        server = _MetricsServer(address, port)
    server.set_app(make_wsgi_app(registry))
    thread = Thread(target=server.serve_forever, args=(_POLL_S,), name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 its name in the base class
        """What clients ask for is no part of a run's log."""


class _MetricsServer(WSGIServer):
    request_queue_size = 128

    def __init__(self, address: str, port: int) -> None:
        """Raises OSError."""
        [(self.address_family, _, _, _, place), *_] = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        self._threads = ThreadPoolExecutor(MOST_CLIENTS, "metrics")
        self._since_s: dict[Any, float] = {}
        self._lock = Lock()
        super().__init__((str(place[0]), port), _Handler)

    def get_request(self) -> tuple[Any, Any]:
        """The next connection. Raises OSError."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(_POLL_S)  # a process without a free descriptor would try again at once, for ever
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own; where all are taken, the oldest client is dropped for it."""
        with self._lock:
            if len(self._since_s) >= MOST_CLIENTS:
                self._drop(next(iter(self._since_s)))
            self._since_s[request] = time.monotonic()
        self._threads.submit(self._serve, request, client_address)

    def _serve(self, request: Any, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        finally:  # it was answered, went away, or was dropped: nothing of it is of any use to a run
            with self._lock:
                self._since_s.pop(request, None)
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Several times a second."""
        late_s = time.monotonic() - _LONGEST_S
        with self._lock:
            for request in [one for one, since_s in self._since_s.items() if since_s < late_s]:
                self._drop(request)

    def _drop(self, request: Any) -> None:
        """Shut a client's connection down; the client's thread sees the end, and closes it."""
        del self._since_s[request]
        with suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def server_close(self) -> None:
        """No client is waited for."""
        super().server_close()
        with self._lock:
            for request in list(self._since_s):
                self._drop(request)
        self._threads.shutdown()

"""What other programs read while a run is in progress: each output listens as long as its command runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from openpts.cli.live_outputs import METRICS, opened_output, warn_of_loss
from openpts.errors import UsageError
from openpts.runner.events import Event, Listener

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

_LAST_PORT = 65535


@contextmanager
def ocp_diag(option: str, place: str) -> Iterator[Listener]:
    """OCP Test & Validation output 2.0, in a new file."""
    from openpts_export.ocp_diag import OcpDiagStream  # noqa: PLC0415 few runs need the library

    # One test run is one file of that form; events of several commands can follow one another.
    with opened_output(option, place, new=not Path(place).is_fifo()) as write:
        yield OcpDiagStream(write).on_event


@contextmanager
def metrics(_option: str, place: str) -> Iterator[Listener]:
    """Metrics for Prometheus, served or kept in a file."""
    from openpts_export.metrics import RunMetrics  # noqa: PLC0415 likewise

    run_metrics = RunMetrics()
    with published_metrics(place, run_metrics) as renew:

        def on_event(event: Event) -> None:
            run_metrics.on_event(event)
            renew()

        yield on_event


@contextmanager
def published_metrics(place: str, metrics: "Collector") -> Iterator[Callable[[], object]]:
    """Serve metrics, or keep them in a file, which is replaced where what is yielded is called in time."""
    from openpts_export.metrics import TextfileMetrics  # noqa: PLC0415 likewise
    from openpts_export.metrics_server import served_metrics  # noqa: PLC0415 likewise

    if place.endswith(".prom"):
        textfile = TextfileMetrics(Path(place), metrics)
        try:
            yield textfile.renew
        finally:
            textfile.write()
            warn_of_loss(METRICS, place, textfile.lost)
        return
    address, colon, port = place.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _LAST_PORT:
        raise UsageError(
            f"invalid {METRICS} {place!r}: write an address and a port, 127.0.0.1:9110, or FILE.prom"
        )
    with served_metrics(address.strip("[]"), int(port), metrics):
        yield bool  # what is served is made when it is asked for

"""The metrics of all runs of a batch in one place, each with the serial number and the slot of its drive."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from openpts.record.batch import BatchEntry
from openpts.record.manifest import ELSEWHERE, RunState
from openpts_batch.executor import BatchEvent, EntryChanged


class BatchMetrics(Collector):
    """Each run keeps its metrics in ``folder``, in a file for node_exporter; they are read when asked for."""

    def __init__(self, folder: Path, entries: Iterable[BatchEntry]) -> None:
        self._folder, self._entries = folder, list(entries)

    def file_of(self, entry: BatchEntry) -> Path:
        """Where the run of an entry keeps its own."""
        return self._folder / f"{entry.folder}.prom"

    def on_event(self, event: BatchEvent) -> None:
        """Keep what is known of a drive."""
        if isinstance(event, EntryChanged):
            self._entries[event.index] = event.entry

    def collect(self) -> Iterable[Metric]:
        """Metrics of the runs that have begun, and how many drives are in which state."""
        drives = GaugeMetricFamily("openpts_batch_drives", "Drives of the batch by state.", labels=["state"])
        states = Counter(entry.state for entry in self._entries)
        for state in RunState:
            if state not in ELSEWHERE:
                drives.add_metric([state.value], states[state])
        families: dict[str, Metric] = {drives.name: drives}
        for entry in list(self._entries):
            path = self.file_of(entry)
            own = {"serial": entry.request.serial or "", "slot": entry.slot or ""}
            for family in text_string_to_metric_families(path.read_text()) if path.exists() else ():
                same = Metric(family.name, family.documentation, family.type)
                for sample in family.samples:
                    families.setdefault(family.name, same).add_sample(
                        sample.name, {**sample.labels, **own}, sample.value
                    )
        return families.values()

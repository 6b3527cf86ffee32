"""The conditions of the benchmark profiles."""

from openpts.procedures.kit.benchmark_profile import BenchmarkProfile, ProfileRow
from openpts.procedures.shared.benchmark.conditions import ProfileTestConditions
from openpts.vocabulary.settling import SettlingRule


class BenchmarksConditions(
    ProfileTestConditions, frozen=True, kw_only=True, tag_field="test", tag="benchmarks"
):
    """The rows of benchmarks on a drive in one state; without preconditioning it was only purged.

    Before the first row of each benchmark the drive is left alone until it has come to rest, but no longer
    than ``settle_ns``; 0 is not at all.
    """

    benchmarks: tuple[BenchmarkProfile, ...]
    settle_ns: int = 0

    # SOL-DEV-04
    @property
    def settling(self) -> SettlingRule | None:
        """How it is seen that the drive has come to rest."""
        if not self.settle_ns:
            return None
        standard = SettlingRule()
        return SettlingRule(
            look_ns=self.minute_ns,
            probe_ns=min(standard.probe_ns, self.minute_ns),
            least_ns=min(self.settle_ns, standard.least_ns * self.minute_ns // standard.look_ns),
            longest_ns=self.settle_ns,
        )

    def row_of(self, number: int) -> tuple[str, ProfileRow]:
        """Benchmark and row of a profile part: rows are numbered through from 1."""
        places = [(one.title, row) for one in self.benchmarks for row in one.rows]
        return places[number - 1]

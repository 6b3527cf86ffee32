"""The engine of simulated drives: a host in virtual time, in the Rust module."""

from openpts import _native
from openpts.engine.contract import EngineProgress
from openpts.engine.options import CompletionWait, Demand, NativeOptions
from openpts.engine.program_queue import ProgramQueue
from openpts.errors import EngineUnavailableError, UsageError
from openpts.vocabulary.facts import Fact, Facts, TargetFacts

_SOURCE = "openpts._native"


class SimulatedEngine(ProgramQueue):
    """Implements openpts.engine.contract.CapturingEngine on a simulated drive.

    All times are virtual: a step of a minute ends as soon as it is computed.
    """

    def __init__(
        self,
        drive: _native.SimulatedDrive,
        target: TargetFacts,
        demand: Demand,
        seed: int,
        options: NativeOptions,
    ) -> None:
        """Raises UsageError for an option that makes no sense in virtual time."""
        _refuse_what_only_real_hosts_have(options)
        self._drive = drive
        capture = options.capture
        try:
            self._host = drive.engine(
                tc=demand.tc,
                qd=demand.qd,
                block_size_bytes=demand.block_size_bytes,
                seed=seed,
                interval_ns=options.interval_ns,
                interval_histograms=options.interval_histograms,
                most_errors=options.most_errors,
                capture=None if capture is None else (capture.folder, capture.lba_bytes),
            )
        except _native.UnavailableError as error:
            raise EngineUnavailableError(str(error)) from error
        except ValueError as error:
            raise UsageError(str(error)) from error
        super().__init__(self._host, target, options.interval_ns)

    @property
    def facts(self) -> Facts:
        """Engine, build, and the drive that it computes."""
        build = _native.build_info()
        drive = self._drive
        return {
            "engine": Fact("simulated drive", _SOURCE),
            "build": Fact(f"{build['version']} {build['profile']} {build['architecture']}", _SOURCE),
            "clock": Fact("virtual", "computed, not measured"),
            "latency": Fact("every simulated I/O, from submission to answer", _SOURCE),
            "sequential_streams": Fact("one for each thread", _SOURCE),
            **{
                f"geometry_{name}": Fact(f"{value:.10g}", f"model of preset {drive.name}")
                for name, value in sorted(drive.geometry.items())
            },
        }

    @property
    def cpus(self) -> tuple[int, ...]:
        """See the contract: its threads are simulated as well."""
        return ()

    def progress(self) -> EngineProgress:
        """See the contract; in virtual time nothing hangs."""
        return EngineProgress(*self._host.progress())


def _refuse_what_only_real_hosts_have(options: NativeOptions) -> None:
    if options.io_path is not None:
        raise UsageError(f"--io-path {options.io_path}: a simulated drive has no kernel I/O path")
    if options.cpus:
        raise UsageError("--cpus: a simulated host has no processors to pin to")
    if options.completion_wait is not CompletionWait.EACH:
        raise UsageError("--wait: a simulated host sees each completion when it happens")

"""What of the response times at QD 1 is the host's: sentences beside the table of the latency test."""

from openpts.analysis.own_share import own_share
from openpts.analysis.round_test import RoundTestResults
from openpts.pages.model import Verdict
from openpts.pages.printable import printable
from openpts.record.reader import Run
from openpts.units import NS_PER_US
from openpts.vocabulary.own_share import (
    KERNEL_THREADS,
    LIMIT_PCT,
    NO_KERNEL_THREADS,
    own_latency_ns,
    share_text,
)


def host_part(run: Run, results: RoundTestResults) -> tuple[Verdict, ...]:
    """The engine's own share of the averages, and whether kernel threads carry out the target's I/O.

    Nothing of what the record does not hold: of simulated drives, and of records from before it was measured.
    """
    return (*_own_share(run, results), *_kernel_threads(run))


def _own_share(run: Run, results: RoundTestResults) -> tuple[Verdict, ...]:
    share = own_share(own_latency_ns(run.manifest.engine), results)
    if share is None:
        return ()
    point, largest_pct = share.largest
    text = (
        f"Own share: {share.own_ns / NS_PER_US:.1f} us of each response time for which the thread sleeps are "
        f"interrupt, wake-up and engine, {share_text(share.smallest_pct)} to {share_text(largest_pct)} of "
        f"the averages (most: {point})."
    )
    return (Verdict(text, "fail" if largest_pct > LIMIT_PCT else ""),)


def _kernel_threads(run: Run) -> tuple[Verdict, ...]:
    fact = run.manifest.dut.get(KERNEL_THREADS)
    if fact is None or fact.value in {None, NO_KERNEL_THREADS}:
        return ()
    return (
        Verdict(
            f"Threads of the kernel carry out the target's I/O ({printable(fact.value)}): each response time "
            "includes two hand-overs between threads, whose length depends on where the scheduler puts them."
        ),
    )

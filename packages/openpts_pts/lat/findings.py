"""What the figures of a latency test show to deviate: too few I/Os, too large an own share (PTS 2.1.11)."""

from msgspec import Struct

from openpts.record.reader import Run
from openpts.units import NS_PER_US
from openpts.vocabulary.engine_overhead import LIMIT_PCT, own_latency_ns, share_text
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Deviation, RoundPoint
from openpts_pts.shared.nines_findings import nines_findings
from openpts_pts.shared.rounds.conditions import RoundConditions
from openpts_pts.shared.rounds.results import RoundTestResults, analyze_round_test


class EngineOverhead(Struct, frozen=True):
    """What ``own_ns`` is of the averages over the window; ``shares_pct`` by test point, the largest first."""

    own_ns: float
    shares_pct: dict[RoundPoint, float]

    @property
    def largest(self) -> tuple[RoundPoint, float]:
        """Where it is the most, and how much."""
        return next(iter(self.shares_pct.items()))

    @property
    def smallest_pct(self) -> float:
        """Where it is the least."""
        return min(self.shares_pct.values())

    @property
    def beyond_limit(self) -> tuple[RoundPoint, ...]:
        """The points where it is more than 5 %."""
        return tuple(point for point, share_pct in self.shares_pct.items() if share_pct > LIMIT_PCT)


def engine_overhead(own_ns: float | None, results: RoundTestResults) -> EngineOverhead | None:
    """None where the engine's own latency is not known, or nothing was averaged."""
    averages = {point: cell.mean_latency_ns for point, cell in results.cells.items() if cell.mean_latency_ns}
    if own_ns is None or not averages:
        return None
    shares = {point: 100 * own_ns / art_ns for point, art_ns in averages.items()}
    return EngineOverhead(own_ns, dict(sorted(shares.items(), key=lambda one: -one[1])))


def findings(run: Run) -> tuple[Deviation, ...]:
    """Entries for the ledger of a latency test that came to its end."""
    return nines_findings(run, "PTS-LAT-19", "9.2 (3.3.3)") + _own_share(run)


def _own_share(run: Run) -> tuple[Deviation, ...]:
    """An entry if interrupt, wake-up and engine are more than 5 % of an average over the window."""
    conditions = run.conditions(RoundConditions)
    finished = run.manifest.cycles[:1]
    rounds = ((step.place.number, step.sample) for step in run.phase(Phase.ROUND, cycle=1))
    steady_round = finished[0].outcome.steady_round if finished else None
    share = engine_overhead(
        own_latency_ns(run.manifest.engine), analyze_round_test(conditions, rounds, steady_round)
    )
    if share is None or not share.beyond_limit:
        return ()
    point, largest_pct = share.largest
    beyond = f"beyond {LIMIT_PCT:g} % for {len(share.beyond_limit)} of {len(share.shares_pct)} test points"
    return (
        Deviation(
            rule_id="PTS-DEF-03",
            clause="2.1.11",
            required=f"response times of the device: the host's share is at most {LIMIT_PCT:g} % of an "
            "average",
            used=f"{share.own_ns / NS_PER_US:.1f} us (interrupt, wake-up and engine) of each for which the "
            f"thread sleeps: up to {share_text(largest_pct)} ({point}), {beyond}",
            effect="the averages include that share of this host's time",
        ),
    )

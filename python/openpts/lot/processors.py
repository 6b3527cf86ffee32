"""Which processors each drive's threads run on: equal shares, near the drive's controller."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from openpts.device.link.nearby_cpus import processors_by_node
from openpts.system_files import SystemRoots


@dataclass(slots=True)
class ProcessorShares:
    """For each node of the host the shares of the drives that run there at once, as long as they run.

    All drives of a lot have equally many processors, or they could not be compared; what is left over is for
    everything else on the host. ``nodes`` are those of the drives, each with one: a drive of which none is
    known gets that with the fewest drives.
    """

    nodes: tuple[int, ...]
    shares: dict[int, tuple[tuple[int, ...], ...]]
    _users: Counter[tuple[int, int]] = field(default_factory=Counter)

    @classmethod
    def of(
        cls, known: Sequence[int | None], at_most: int | None, allowed: set[int], roots: SystemRoots
    ) -> "ProcessorShares":
        """The shares of drives on these nodes (None: not known) on the processors that are allowed."""
        cpus_of = processors_by_node(allowed, roots)
        count = Counter(node for node in known if node in cpus_of)
        nodes = []
        for known_node in known:
            node = known_node
            if node not in cpus_of:
                node = min(cpus_of, key=lambda one: (count[one] / len(cpus_of[one]), one))
                count[node] += 1
            nodes.append(node)
        at_once = {node: min(drives, at_most or drives) for node, drives in count.items()}
        size = max(1, min((len(cpus_of[node]) // lanes for node, lanes in at_once.items()), default=1))
        shares = {node: _shares(cpus_of[node], lanes, size) for node, lanes in at_once.items()}
        return cls(tuple(nodes), shares)

    def take(self, drive: int) -> tuple[int, ...]:
        """The processors for a drive that begins: the share of its node that the fewest use."""
        node = self.nodes[drive]
        lane = min(range(len(self.shares[node])), key=lambda one: (self._users[node, one], one))
        self._users[node, lane] += 1
        return self.shares[node][lane]

    def give_back(self, drive: int, cpus: tuple[int, ...]) -> None:
        """A drive has ended."""
        node = self.nodes[drive]
        used = (lane for lane, share in enumerate(self.shares[node]) if share == cpus)
        self._users[node, max(used, key=lambda lane: self._users[node, lane])] -= 1

    def words(self) -> list[str]:
        """What each drive gets, a line for each node."""
        lines = []
        for node, shares in sorted(self.shares.items()):
            drives, cpus = self.nodes.count(node), sorted({cpu for share in shares for cpu in share})
            which = f"node {node}: processors {cpu_list(cpus)}"
            if len(shares) > len(cpus):
                lines.append(
                    f"{which} for {len(shares)} drives at once: up to {-(-len(shares) // len(cpus))} drives "
                    "share one, and the host may be what is measured"
                )
            else:
                at_once = (
                    f"each of {len(shares)} drives at once" if len(shares) > 1 else "one drive at a time"
                )
                each = f"{len(shares[0])} for {at_once}"
                lines.append(f"{which}, {each}" + (f", {drives} in all" if drives > len(shares) else ""))
        return lines


def _shares(cpus: tuple[int, ...], lanes: int, size: int) -> tuple[tuple[int, ...], ...]:
    if lanes > len(cpus):
        return tuple((cpus[lane % len(cpus)],) for lane in range(lanes))
    return tuple(cpus[lane * size : (lane + 1) * size] for lane in range(lanes))


def cpu_list(cpus: Sequence[int]) -> str:
    """Processors in the kernel's way of writing, such as ``0-3,8``."""
    ordered = sorted(cpus)
    ends = [at for at, (one, following) in enumerate(pairwise(ordered)) if following != one + 1]
    firsts, lasts = [0, *(end + 1 for end in ends)], [*ends, len(ordered) - 1]
    runs = [(ordered[first], ordered[last]) for first, last in zip(firsts, lasts, strict=True)]
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)

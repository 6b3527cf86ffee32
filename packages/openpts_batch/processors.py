"""Which processors each drive's threads run on: equal shares, near the drive's controller."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field

from openpts.device.link.nearby_cpus import processors_by_node
from openpts.system_files import SystemRoots


class ProcessorShares(Struct):
    """For each node of the host the shares of the drives that run there at once, as long as they run.

    All drives of a batch have equally many processors, or they could not be compared; what is left over is
    for everything else on the host. ``nodes`` has the node of each drive that gets processors: one of which
    none is known gets that with the fewest drives.
    """

    nodes: dict[int, int]
    shares: dict[int, tuple[tuple[int, ...], ...]]
    _taken: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, known: Mapping[int, int | None], at_most: int | None, allowed: set[int], roots: SystemRoots
    ) -> "ProcessorShares":
        """The shares of drives on these nodes (None: not known) on the processors that are allowed."""
        cpus_of = processors_by_node(allowed, roots)
        count = Counter(node for node in known.values() if node in cpus_of)
        nodes = {}
        for drive, known_node in known.items():
            node = known_node
            if node not in cpus_of:
                node = min(cpus_of, key=lambda one: (count[one] / len(cpus_of[one]), one))
                count[node] += 1
            nodes[drive] = node
        at_once = {node: min(drives, at_most or drives) for node, drives in count.items()}
        size = max(1, min((len(cpus_of[node]) // lanes for node, lanes in at_once.items()), default=1))
        return cls(nodes, {node: _shares(cpus_of[node], lanes, size) for node, lanes in at_once.items()})

    def take(self, drive: int) -> tuple[int, ...] | None:
        """The share of its node that the fewest use, for a drive that begins; None if it gets none."""
        if (node := self.nodes.get(drive)) is None:
            return None
        users = Counter(lane for other, lane in self._taken.items() if self.nodes[other] == node)
        lane = self._taken[drive] = min(range(len(self.shares[node])), key=lambda one: (users[one], one))
        return self.shares[node][lane]

    def give_back(self, drive: int) -> None:
        """A drive has ended."""
        self._taken.pop(drive, None)

    def words(self) -> list[str]:
        """What each drive gets, a line for each node."""
        lines = []
        for node, shares in sorted(self.shares.items()):
            drives = list(self.nodes.values()).count(node)
            cpus = sorted({cpu for share in shares for cpu in share})
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

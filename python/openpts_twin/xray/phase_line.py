"""What the log says at the end of a part of an x-ray: nothing after each of many short steps."""

from openpts.runner.progress import RunProgress
from openpts.vocabulary.phase import Phase
from openpts_twin.xray import APART, HOT, PAIRS, UNTIL_COLLECTION

_SHORT = {
    (Phase.SWEEP, PAIRS),
    (Phase.SWEEP, APART),
    (Phase.CONDITIONING, UNTIL_COLLECTION),
    (Phase.LOAD, HOT),
}


def phase_line(progress: RunProgress) -> str | None:
    """Nothing after a pair of reads or a window of writes, which the report shows."""
    apply = progress.apply
    return "" if apply is not None and (apply.phase, apply.number) in _SHORT else None

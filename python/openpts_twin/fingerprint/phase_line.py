"""What the log says at the end of a part of a fingerprint."""

from openpts.runner.progress import RunProgress
from openpts.vocabulary.phase import Phase


def phase_line(progress: RunProgress) -> str | None:
    """Nothing after each of many windows of random writes, which the report shows."""
    return "" if progress.apply is not None and progress.apply.phase is Phase.SWEEP else None

"""What a job file of another program is in steps of openpts."""

from msgspec import Struct

from openpts.vocabulary.stimulus import Step


class Translation(Struct, frozen=True):
    """Steps one after the other; ``ignored`` options and ``notes`` on others, each with its place."""

    steps: tuple[Step, ...]
    ignored: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def changes_target(self) -> bool:
        """Whether any step writes or trims."""
        return any(step.changes_target for step in self.steps)

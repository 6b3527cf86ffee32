"""One test on one drive as it is asked for, before any host or process is chosen for it."""

from msgspec import Struct


class RunRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run that a lot, a campaign or a fleet is to carry out once.

    ``run_id`` is minted by who asks, before anything is submitted: it names claim, folder and job.
    ``test_words`` are the arguments of ``openpts run`` without target and folder, the test first. ``target``
    is a node, a file or a simulated drive of the host; without it ``slot`` is, whose drive must have
    ``serial``. ``host`` is None for this machine.
    """

    run_id: str
    test_words: tuple[str, ...]
    target: str | None = None
    slot: str | None = None
    model: str | None = None
    serial: str | None = None
    host: str | None = None
    labels: dict[str, str] = {}

"""Where a script's declared phases make the drive's log be read."""

from openpts.procedures.kit.procedure import with_log_readings
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.requests import Answer, Apply, Purge, ReadHealth, Request, Script, health_in
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Duration, Step

IDLE = Step.of(None, Duration(10**9))
READING = HealthReading("a log")


def apply(phase: Phase, number: int = 1) -> Apply:
    return Apply(phase, number, (IDLE,))


def asked(*requests: Request, phases: frozenset[Phase] = frozenset({Phase.REST})) -> list[Request]:
    """What a script of these requests comes to ask for."""

    def script() -> Script:
        for request in requests:
            answer = yield request
            if isinstance(request, ReadHealth):
                assert health_in(answer) is READING

    wrapped, found = with_log_readings(script(), phases), []
    answer: Answer = None
    try:
        while True:
            found.append(wrapped.send(answer))
            answer = READING if isinstance(found[-1], ReadHealth) else None
    except StopIteration:
        return found


def test_a_rest_is_between_two_readings_under_its_own_name() -> None:
    load, rest, burst = apply(Phase.LOAD), apply(Phase.REST, 7), apply(Phase.BURST)
    reading = ReadHealth(Phase.REST, 7)
    assert asked(load, rest, burst, burst) == [load, reading, rest, reading, burst, burst]


def test_what_the_script_reads_itself_is_not_read_twice() -> None:
    load, rest, own = apply(Phase.LOAD), apply(Phase.REST), ReadHealth(Phase.LOAD, 1)
    assert asked(load, own, rest, own, load) == [load, own, rest, own, load]


def test_one_reading_is_enough_between_two_rests_and_after_a_purge() -> None:
    rest = apply(Phase.REST)
    reading = ReadHealth(Phase.REST, 1)
    assert asked(Purge(), rest, rest) == [Purge(), rest, reading, rest]


def test_a_script_without_such_phases_is_as_it_was() -> None:
    load, rest = apply(Phase.LOAD), apply(Phase.REST)
    assert asked(load, rest, load, phases=frozenset()) == [load, rest, load]

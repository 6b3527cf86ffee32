"""Power states of the served drive, as a host of NVMe over TCP finds, commands and feels them."""

import time
from statistics import median

from openpts.units import NS_PER_MS
from openpts.vocabulary.power import Transition
from openpts_drives.nvme import declared_states, table_bytes, table_of
from tests.support.five_states import AFTER_IDLE_MS, DECLARED_EXIT_US, EXITS_US, IDLE_W, write_five_states
from tests.support.nvme_tcp_host import Host
from tests.support.served_drive import admin, both, served

GET, SET = 0x0A, 0x09
DEFAULT_TABLE = tuple(Transition(n - 1, n, AFTER_IDLE_MS[n] * NS_PER_MS) for n in range(1, 5))


def table(host: Host, select: int = 0) -> tuple[int, tuple[Transition, ...]]:
    done = host.command(GET, 0x0C | select << 8, reads=256)
    assert done.status == 0
    return done.result & 1, table_of(done.data)


def test_the_states_are_declared_as_the_preset_has_them(tmp_path) -> None:
    with served(str(write_five_states(tmp_path))) as drive, admin(drive) as host:
        data = host.identify(1)
        assert data[265] == 1
        states = declared_states(data)
    assert [state.operational for state in states] == [True, False, False, False, False]
    assert [round((state.exit_ns or 0) / 1000) for state in states] == list(DECLARED_EXIT_US)
    assert [state.idle_w for state in states] == list(IDLE_W)


def test_transitions_are_set_read_back_and_refused_as_the_specification_has_it(tmp_path) -> None:
    with served(str(write_five_states(tmp_path))) as drive, admin(drive) as host:
        assert table(host) == (1, DEFAULT_TABLE)
        own = (Transition(0, 3, 100 * NS_PER_MS),)
        assert host.command(SET, 0x0C, 1, data=table_bytes(own)).status == 0
        assert table(host) == (1, own)
        assert table(host, select=1) == (1, DEFAULT_TABLE)
        assert host.command(SET, 0x0C, 1, data=table_bytes((Transition(1, 0, NS_PER_MS),))).status != 0
        assert host.command(SET, 0x02, 3).status == 0
        assert host.command(GET, 0x02).result == 3
        assert host.command(SET, 0x02, 5).status != 0


def test_the_first_read_waits_for_the_state_that_was_commanded(tmp_path) -> None:
    """Medians of a few reads, beside reads of a drive that is awake: a loaded machine adds to both."""
    with served(str(write_five_states(tmp_path))) as drive, both(drive) as (host, queue):
        assert host.command(SET, 0x0C, 0, data=bytes(256)).status == 0

        def read_ms(state: int) -> float:
            assert host.command(SET, 0x02, state).status == 0
            time.sleep(0.03)
            begun = time.perf_counter()
            assert queue.command(0x02, 0, 0, 7, namespace=1, reads=4096).status == 0
            return (time.perf_counter() - begun) * 1000

        awake = median(read_ms(0) for _ in range(9))
        for state in (3, 4):
            waited = median(read_ms(state) for _ in range(5))
            assert EXITS_US[state] / 1000 <= waited < EXITS_US[state] / 1000 + awake + 20

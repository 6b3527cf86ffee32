"""Drawings are the same whichever process makes them, and are made even if none helps."""

import json
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from openpts_pages.plots import svg
from openpts_pages.plots.svg import DrawingPool, draw_figures
from openpts_pages.plots.worker_processes import worker_processes
from tests.support.sample_figures import all_figures, gallery

REPORT = gallery("nines", "bars", "cpu")
# Vega has threads, so that a process in which it runs (this one) is not forked
ALONE = """
    import json, multiprocessing, os
    from openpts_pages.plots import svg
    from openpts_pages.plots.svg import DrawingPool, draw_figures
    from openpts_pages.plots.svg import renderer
    from openpts_pages.plots.worker_processes import worker_processes
    from tests.support.sample_figures import all_figures, gallery

    draw = svg.made_drawing
    def drawn_elsewhere(spec):
        assert multiprocessing.parent_process() is not None
        return draw(spec)
    def end(spec):
        return draw(spec) if multiprocessing.parent_process() is None else os._exit(3)
"""


@pytest.fixture(scope="module")
def drawn_here() -> dict[str, str]:
    return draw_figures(REPORT)


@pytest.fixture(autouse=True)
def nothing_kept(drawn_here: dict[str, str], monkeypatch) -> None:
    """Else nothing would be left to draw."""
    monkeypatch.setenv("OPENPTS_CACHE", "off")


def alone(program: str) -> Any:
    """What a program prints in a process of its own."""
    script = textwrap.dedent(ALONE) + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True, timeout=120
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_other_processes_draw_the_same(drawn_here) -> None:
    drawn = alone("""
        svg.made_drawing = drawn_elsewhere
        with worker_processes(3) as workers:
            drawn = draw_figures(gallery("nines", "bars", "cpu"), DrawingPool(workers))
        assert not renderer.cache_info().currsize
        print(json.dumps(drawn))
    """)
    assert drawn == drawn_here


def test_what_was_begun_early_is_drawn_once(drawn_here, monkeypatch) -> None:
    with worker_processes() as workers:
        pool = DrawingPool(workers)
        pool.begin(REPORT.pages())
        monkeypatch.setattr(svg, "vega_lite_spec", None)  # a second drawing would need one
        assert draw_figures(REPORT, pool) == drawn_here


@pytest.mark.slow
def test_a_process_with_threads_is_not_forked(drawn_here) -> None:
    with worker_processes(2) as workers:  # Vega's
        assert not isinstance(workers, ProcessPoolExecutor)
        assert workers.submit(os.getpid).result() == os.getpid()
        assert draw_figures(REPORT, DrawingPool(workers)) == drawn_here
    isinstances = alone("""
        import threading
        import vl_convert
        from concurrent.futures import ProcessPoolExecutor
        found = []
        def look():
            with worker_processes(2) as workers:
                found.append(isinstance(workers, ProcessPoolExecutor))
        look()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        vl_convert.javascript_bundle()  # leaves threads that Python does not know
        look()
        print(json.dumps(found))
    """)
    assert isinstances == [True, False, False]


@pytest.mark.slow
def test_a_process_that_ends_leaves_its_work_to_this_one(drawn_here) -> None:
    drawn = alone("""
        svg.made_drawing = end
        with worker_processes(2) as workers:
            print(json.dumps(draw_figures(gallery("nines", "bars", "cpu"), DrawingPool(workers))))
    """)
    assert drawn == drawn_here


def test_processes_that_end_while_much_is_sent_to_them_are_not_waited_for() -> None:
    """What is sent is more than a pipe holds. Python before 3.11.5 waited for ever."""
    broken = alone("""
        import time
        from concurrent.futures.process import BrokenProcessPool
        def end_soon():
            time.sleep(0.2)
            os._exit(3)
        with worker_processes(2) as workers:
            begun = [*(workers.submit(end_soon) for _ in range(2)), workers.submit(len, bytes(1 << 22))]
            print(json.dumps([isinstance(one.exception(), BrokenProcessPool) for one in begun]))
    """)
    assert broken == [True, True, True]


def test_a_process_that_has_much_to_say_when_another_has_ended_is_not_waited_for() -> None:
    """What it says is more than a pipe holds, and is not read. It has signals blocked."""
    broken = alone("""
        import time
        from concurrent.futures.process import BrokenProcessPool
        def say_much():
            time.sleep(0.4)
            return bytes(1 << 22)
        with worker_processes(2) as workers:
            begun = [workers.submit(say_much), workers.submit(os._exit, 3)]
            print(json.dumps([isinstance(one.exception(), BrokenProcessPool) for one in begun]))
    """)
    assert broken == [True, True]


def test_what_vega_refuses_is_told(monkeypatch) -> None:
    monkeypatch.setattr(svg, "vega_lite_spec", lambda *_: {"mark": "nonsense"})
    figure, table = all_figures()[0]
    with worker_processes() as workers, pytest.raises(ValueError, match="Vega-Lite to SVG"):
        DrawingPool(workers).plot_svg(figure, {table.id: table})
    message = alone("""
        svg.vega_lite_spec = lambda *_: {"mark": "nonsense"}
        figure, table = all_figures()[0]
        with worker_processes(2) as workers:
            try:
                DrawingPool(workers).plot_svg(figure, {table.id: table})
            except ValueError as error:
                print(json.dumps(str(error)))
    """)
    assert "Vega-Lite to SVG" in str(message)


def test_what_has_not_begun_is_left_after_an_exception() -> None:
    """The executor's own queue holds more tasks than can be cancelled."""
    begun = alone("""
        import time
        from pathlib import Path
        from tempfile import TemporaryDirectory
        from openpts_pages.plots import worker_processes as worker_processes_module
        def note(folder, n):
            Path(folder, str(n)).touch()
            while not worker_processes_module._OF_WORKER[0].is_set():
                time.sleep(0.01)
        with TemporaryDirectory() as folder:
            try:
                with worker_processes(2) as workers:
                    for n in range(20):
                        workers.submit(note, folder, n)
                    while len(os.listdir(folder)) < 2:
                        time.sleep(0.01)
                    raise InterruptedError
            except InterruptedError:
                print(json.dumps(len(os.listdir(folder))))
    """)
    assert begun == 2


def test_without_what_processes_share_all_is_done_here() -> None:
    """A container without /dev/shm has no semaphores."""
    done_here = alone("""
        from multiprocessing import get_context
        def refuse(*_arguments, **_named):
            raise FileNotFoundError
        type(get_context("fork")).Event = refuse
        with worker_processes(2) as workers:
            print(json.dumps(workers.submit(os.getpid).result() == os.getpid()))
    """)
    assert done_here is True

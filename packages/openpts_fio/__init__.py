"""Job files of fio as steps, fio as an engine, its results as runs, and both engines compared."""

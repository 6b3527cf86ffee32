"""The contract of load generators: steps in, samples out; the native engine, the simulated one, and ``fio/``.

Knows no test and no report.
"""

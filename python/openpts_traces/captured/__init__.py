"""The workload of a capture, which several tests apply: its streams, conditions, pages and ledger.

Knows no engine and no device.
"""

"""Rounds of test points until steady state: what IOPS, throughput and latency share (PTS 7, 8, 9).

Knows no engine and no device.
"""

"""The tables of run.db, and their history.

Version 1: manifest, step, direction, interval, deviation.
"""

from typing import Final

SCHEMA_VERSION: Final = 1

TABLES: Final = """
CREATE TABLE manifest (
    section             TEXT PRIMARY KEY,   -- a field of record.manifest.Manifest
    json                TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE step (
    step_id             INTEGER PRIMARY KEY,
    round               INTEGER,            -- from 1; NULL in preconditioning (WIPC)
    position            INTEGER NOT NULL,   -- from 0 within its round
    access_pattern      TEXT NOT NULL,
    block_size_bytes    INTEGER NOT NULL,
    read_pct            INTEGER NOT NULL,
    tc                  INTEGER NOT NULL,
    qd                  INTEGER NOT NULL,
    range_start_pct     REAL NOT NULL,
    range_end_pct       REAL NOT NULL,
    stop_duration_ns    INTEGER,            -- one of the two stop rules is NULL
    stop_amount_bytes   INTEGER,
    state               TEXT NOT NULL,      -- complete, interrupted, failed
    started_ns          INTEGER NOT NULL,   -- engine clock
    elapsed_ns          INTEGER NOT NULL,
    gap_ns              INTEGER,
    interval_ns         INTEGER NOT NULL,
    cpu_user_pct        REAL,
    cpu_sys_pct         REAL,
    cpu_iowait_pct      REAL,
    process_cpu_ns      INTEGER,
    failure_direction   TEXT,
    failure_offset_bytes INTEGER,
    failure_length_bytes INTEGER,
    failure_reason      TEXT
) STRICT;

CREATE TABLE direction (
    step_id             INTEGER NOT NULL REFERENCES step,
    direction           TEXT NOT NULL,      -- read, write
    ios                 INTEGER NOT NULL,
    bytes               INTEGER NOT NULL,
    latency_sum_ns      INTEGER NOT NULL,
    latency_min_ns      INTEGER,
    latency_max_ns      INTEGER,
    histogram           BLOB NOT NULL,      -- HdrHistogram V2, compressed; ns, 3 significant digits
    PRIMARY KEY (step_id, direction)
) STRICT, WITHOUT ROWID;

CREATE TABLE interval (
    step_id             INTEGER NOT NULL REFERENCES step,
    interval_index      INTEGER NOT NULL,   -- times step.interval_ns after step.started_ns
    read_ios            INTEGER NOT NULL,
    read_bytes          INTEGER NOT NULL,
    read_latency_sum_ns INTEGER NOT NULL,
    read_latency_max_ns INTEGER NOT NULL,
    write_ios           INTEGER NOT NULL,
    write_bytes         INTEGER NOT NULL,
    write_latency_sum_ns INTEGER NOT NULL,
    write_latency_max_ns INTEGER NOT NULL,
    PRIMARY KEY (step_id, interval_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE deviation (
    position            INTEGER PRIMARY KEY,
    rule_id             TEXT NOT NULL,
    clause              TEXT NOT NULL,
    required            TEXT NOT NULL,
    used                TEXT NOT NULL,
    effect              TEXT NOT NULL
) STRICT;
"""

//! Traces that are easy to write, and what comes of reading them.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use openpts_trace::{IoStream, OpenOptions, Tally, Trace, TraceError, TracedIo, open_trace};

/// A record of vscsi, version 2: the I/O has 4 KiB.
pub fn vscsi(time_us: u64, command: u16, block: u64, response_us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(command.to_le_bytes());
    record.extend(0x0200_u16.to_le_bytes());
    for word in [1_u32, 4096, 1] {
        record.extend(word.to_le_bytes());
    }
    for long in [block, time_us, response_us] {
        record.extend(long.to_le_bytes());
    }
    record
}

/// Reads at these times, of block 8, 16 and so on.
pub fn reads_at(times_us: impl IntoIterator<Item = u64>) -> Vec<u8> {
    (1..).zip(times_us).flat_map(|(number, time_us)| vscsi(time_us, 0x28, 8 * number, 100)).collect()
}

pub struct Read {
    pub ios: Vec<TracedIo>,
    pub trace: Trace,
}

impl Read {
    pub fn tally(&self) -> &Tally {
        self.trace.tally()
    }
}

pub fn read_with(paths: &[PathBuf], options: &OpenOptions) -> Result<Read, TraceError> {
    let mut trace = open_trace(paths, options)?;
    let (mut ios, mut batch) = (Vec::new(), Vec::new());
    while trace.read(&mut batch)? {
        assert!(!batch.is_empty());
        ios.extend_from_slice(&batch);
    }
    assert!(trace.tally().is_conserved());
    Ok(Read { ios, trace })
}

pub fn read_file(path: &Path) -> Result<Read, TraceError> {
    read_with(&[path.into()], &OpenOptions::default())
}

pub fn read_bytes(bytes: &[u8], options: &OpenOptions) -> Result<Read, TraceError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    std::fs::write(&path, bytes).unwrap();
    read_with(&[path], options)
}

//! Traces that are easy to write, and what comes of reading them.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use openpts_trace::{OpenOptions, Tally, Trace, TraceError, TracedIo, open_trace};

/// Reads of 4 KiB at these times, of block 8, 16 and so on, as Alibaba has them.
pub fn reads_at(times_us: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let line = |(number, time_us): (u64, u64)| format!("1,R,{},4096,{time_us}\n", 4096 * number);
    (1..).zip(times_us).map(line).collect::<String>().into_bytes()
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

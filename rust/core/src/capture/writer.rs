//! The writer thread: takes full chunks, drives the files, gives empty chunks back.

use super::configuration::CaptureConfiguration;
use super::figures::{Shared, StepSummary};
use super::files::{Closed, Files, OpenFile, Row, fill};
use super::record::Chunk;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

/// What arrives at the writer.
pub(super) enum Message {
    /// A chunk with I/Os.
    Filled(Chunk),
    /// What was sent before it is to be in complete files; the sender hears when it is.
    Complete(SyncSender<()>),
    /// No more chunks; what was sent before it has arrived.
    Finish,
}

/// What the writer leaves behind.
#[derive(Default)]
pub(super) struct Written {
    pub(super) files: Vec<PathBuf>,
    pub(super) bytes: u64,
    pub(super) steps: BTreeMap<u32, StepSummary>,
}

/// The writer's side of a capture.
pub(super) struct Writer {
    files: Arc<dyn Files>,
    configuration: CaptureConfiguration,
    shared: Arc<Shared>,
    rows: Vec<Row>,
    part: Option<Box<dyn OpenFile>>,
    number: u32,
    written: Written,
}

impl Writer {
    /// Without a file: the first one is begun with the first I/Os.
    pub(super) fn new(
        files: Arc<dyn Files>,
        configuration: CaptureConfiguration,
        shared: Arc<Shared>,
    ) -> Self {
        let written = Written::default();
        Self { files, configuration, shared, rows: Vec::new(), part: None, number: 0, written }
    }

    /// Work until the end is announced or all taps are gone.
    pub(super) fn run(mut self, filled: &Receiver<Message>, empty: &[SyncSender<Chunk>]) -> Written {
        loop {
            match filled.recv_timeout(self.until_file_is_due()) {
                Ok(Message::Filled(mut chunk)) => {
                    self.take(&mut chunk);
                    chunk.empty();
                    // A thread that is gone needs no chunk.
                    let _ = empty[usize::from(chunk.thread)].try_send(chunk);
                }
                Ok(Message::Complete(done)) => {
                    self.close_part(None);
                    // Who has stopped waiting needs no answer.
                    let _ = done.send(());
                }
                Ok(Message::Finish) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.close_part(None),
            }
        }
        self.close_part(None);
        self.written
    }

    /// A file without I/Os can stay open for any time.
    fn until_file_is_due(&self) -> Duration {
        self.part.as_ref().filter(|part| part.ios() > 0).map_or(Duration::MAX, |part| {
            self.configuration.file_duration.saturating_sub(part.began().elapsed())
        })
    }

    fn take(&mut self, chunk: &mut Chunk) {
        let step = self.written.steps.entry(chunk.step).or_default();
        step.ios += chunk.records.len() as u64;
        step.waits.add(chunk.waits);
        if self.shared.error.get().is_some() {
            self.shared.discarded.fetch_add(chunk.records.len() as u64, Relaxed);
        } else {
            self.store(chunk);
        }
    }

    fn store(&mut self, chunk: &mut Chunk) {
        if self.part.is_none()
            && let Err(error) = self.begin_part()
        {
            self.shared.discarded.fetch_add(chunk.records.len() as u64, Relaxed);
            return self.fail(error);
        }
        if let Err(error) = fill(&mut self.rows, chunk, self.configuration.lba_bytes) {
            self.shared.discarded.fetch_add(chunk.records.len() as u64, Relaxed);
            self.fail(error);
            return self.close_part(None);
        }
        let Some(part) = self.part.as_mut() else { return };
        match part.add(&self.rows, chunk.waits) {
            Err(error) => self.close_part(Some(error)),
            Ok(()) => {
                let is_complete = part.ios() >= self.configuration.ios_per_file;
                if is_complete || self.until_file_is_due().is_zero() {
                    self.close_part(None);
                }
            }
        }
    }

    fn begin_part(&mut self) -> Result<(), String> {
        self.number += 1;
        self.part = Some(self.files.begin(&self.configuration, self.number)?);
        Ok(())
    }

    /// Complete the file, if there is one: after an error without what has not reached it.
    fn close_part(&mut self, error: Option<String>) {
        let Some(part) = self.part.take() else { return };
        let Closed { file, ios, lost, error } = part.close(error);
        self.shared.written.fetch_add(ios, Relaxed);
        self.shared.discarded.fetch_add(lost, Relaxed);
        if let Some((name, bytes)) = file {
            self.written.files.push(name);
            self.written.bytes += bytes;
        }
        if let Some(error) = error {
            self.fail(error);
        }
    }

    /// The first error counts.
    fn fail(&self, error: String) {
        let _ = self.shared.error.set(error);
    }
}

//! Starting a capture, watching it and ending it.

use super::configuration::CaptureConfiguration;
use super::error::CaptureError;
use super::figures::{CaptureState, CaptureSummary, Shared};
use super::files::Files;
use super::record::Chunk;
use super::tap::Tap;
use super::writer::{Message, Writer, Written};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// A running capture.
#[derive(Debug)]
pub struct Capture {
    shared: Arc<Shared>,
    messages: SyncSender<Message>,
    writer: Option<JoinHandle<Written>>,
}

/// Has files completed while the capture goes on, one at a time.
#[derive(Clone, Debug)]
pub struct Completion(SyncSender<Message>);

impl Completion {
    /// Begin to complete the file with all that the taps have handed over; what is returned hears when it is on
    /// stable storage, or could not be written, or is cut off if the capture has ended.
    #[must_use]
    pub fn begin(&self) -> Receiver<()> {
        let (done, heard) = sync_channel(1);
        // Without a receiver the writer has ended, and `done` with this message.
        let _ = self.0.send(Message::Complete(done));
        heard
    }
}

/// Start a capture with one tap for each thread. No file is begun before the first I/O.
///
/// # Errors
/// If the configuration makes no sense, it is seen that no file can be begun, or the writer thread can't be made.
pub fn open(
    files: Arc<dyn Files>,
    configuration: CaptureConfiguration,
) -> Result<(Capture, Vec<Tap>), CaptureError> {
    configuration.check()?;
    files.check().map_err(CaptureError::Begin)?;
    let (chunk_ios, chunks) = (configuration.chunk_ios(), configuration.chunks_per_thread());
    let threads = configuration.threads;
    let shared = Arc::new(Shared::default());
    // All chunks, an order to complete a file and that to finish fit, so no sender ever waits here.
    let (messages, filled) = sync_channel(chunks * threads as usize + 2);
    let mut empty = Vec::new();
    let mut taps = Vec::new();
    for thread in 0..threads {
        let new_chunk = || Chunk::new(thread as u16, chunk_ios);
        let (sender, receiver) = sync_channel(chunks);
        for _ in 1..chunks {
            let _ = sender.try_send(new_chunk());
        }
        empty.push(sender);
        taps.push(Tap::new(new_chunk(), messages.clone(), receiver, shared.clone()));
    }
    let writer = Writer::new(files, configuration, shared.clone());
    let thread = Builder::new()
        .name("capture".into())
        .spawn(move || writer.run(&filled, &empty))
        .map_err(CaptureError::Begin)?;
    Ok((Capture { shared, messages, writer: Some(thread) }, taps))
}

impl Capture {
    /// How it stands.
    #[must_use]
    pub fn state(&self) -> CaptureState {
        self.shared.state()
    }

    /// What has files completed before the end.
    #[must_use]
    pub fn completion(&self) -> Completion {
        Completion(self.messages.clone())
    }

    /// Write everything that was handed over, and complete the last file. To be called when the threads
    /// have dropped their taps; a tap that is left, with a thread that hangs, is not waited for.
    ///
    /// # Errors
    /// If a file could not be written, with what there is nevertheless.
    pub fn finish(mut self) -> Result<CaptureSummary, CaptureError> {
        let unfinished_threads = self.shared.taps.load(Relaxed);
        let written = self.join();
        let ended = written.is_some();
        let written = written.unwrap_or_default();
        let (ios_recorded, ios_written) =
            (self.shared.recorded.load(Relaxed), self.shared.written.load(Relaxed));
        let summary = CaptureSummary {
            ios_recorded,
            ios_written,
            ios_discarded: ios_recorded - ios_written,
            bytes_written: written.bytes,
            files: written.files,
            waits: self.shared.waits(),
            steps: written.steps,
            unfinished_threads,
        };
        let panicked = || (!ended).then(|| "the writer thread panicked".to_owned());
        match self.shared.error.get().cloned().or_else(panicked) {
            None => Ok(summary),
            Some(reason) => Err(CaptureError::Write { reason, summary: Box::new(summary) }),
        }
    }

    fn join(&mut self) -> Option<Written> {
        // Without a receiver the writer has ended already.
        let _ = self.messages.send(Message::Finish);
        self.writer.take().and_then(|writer| writer.join().ok())
    }
}

impl Drop for Capture {
    /// Completes the files of a capture that was not finished.
    fn drop(&mut self) {
        if self.writer.is_some() {
            self.join();
        }
    }
}

//! A schedule, read far ahead of its player by a thread.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::thread;

use super::format::{ScheduleError, ScheduleHeader, ScheduledIo};
use crate::machine::unpin;

/// I/Os that are read at once.
const CHUNK_IOS: usize = 1 << 15;
/// Chunks that wait to be played: a million I/Os, some 60 MB at most.
const CHUNKS_AHEAD: usize = 32;

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    Io(ScheduledIo),
    /// The reader is behind.
    NotYet,
    End,
    /// What was read is no schedule.
    Broken(String),
}

/// The I/Os of a schedule, in order.
#[derive(Debug)]
pub struct ReadAhead {
    header: ScheduleHeader,
    chunks: Receiver<Result<Vec<u8>, ScheduleError>>,
    chunk: Vec<u8>,
    at: usize,
    /// Wait for the reader rather than say that it is behind: where time does not pass meanwhile.
    is_patient: bool,
}

impl ReadAhead {
    /// Begin to read.
    ///
    /// # Errors
    /// If it is no schedule, or there is no thread for it.
    pub fn open(path: &Path, is_patient: bool) -> Result<Self, ScheduleError> {
        let (header, file) = ScheduleHeader::open(path)?;
        let (chunks_out, chunks) = sync_channel(CHUNKS_AHEAD);
        let reader = Reader { path: path.to_owned(), file, header: header.clone(), before_ns: 0 };
        thread::Builder::new()
            .name("openpts-schedule".into())
            .spawn(move || reader.run(&chunks_out))
            .map_err(ScheduleError::file(path))?;
        Ok(Self { header, chunks, chunk: Vec::new(), at: 0, is_patient })
    }

    #[cfg(test)]
    pub(super) fn of(header: ScheduleHeader, chunks: Receiver<Result<Vec<u8>, ScheduleError>>) -> Self {
        Self { header, chunks, chunk: Vec::new(), at: 0, is_patient: false }
    }

    #[cfg(test)]
    pub(super) fn next_io(&mut self) -> Option<ScheduledIo> {
        if let Next::Io(io) = self.next() { Some(io) } else { None }
    }

    /// What the schedule says about itself.
    #[must_use]
    pub fn header(&self) -> &ScheduleHeader {
        &self.header
    }

    #[inline]
    pub(super) fn next(&mut self) -> Next {
        let length = self.header.record_bytes();
        if self.at == self.chunk.len()
            && let Some(other) = self.next_chunk()
        {
            return other;
        }
        let record = &self.chunk[self.at..self.at + length];
        self.at += length;
        Next::Io(ScheduledIo::decode(record))
    }

    /// Get more; what to say if there is none.
    #[cold]
    fn next_chunk(&mut self) -> Option<Next> {
        let received = if self.is_patient {
            self.chunks.recv().map_err(|RecvError| TryRecvError::Disconnected)
        } else {
            self.chunks.try_recv()
        };
        match received {
            Ok(Ok(chunk)) => {
                (self.chunk, self.at) = (chunk, 0);
                None
            }
            Ok(Err(error)) => Some(Next::Broken(error.to_string())),
            Err(TryRecvError::Empty) => Some(Next::NotYet),
            Err(TryRecvError::Disconnected) => Some(Next::End),
        }
    }
}

/// The thread's side.
struct Reader {
    path: PathBuf,
    file: File,
    header: ScheduleHeader,
    before_ns: u64,
}

impl Reader {
    fn run(mut self, chunks: &SyncSender<Result<Vec<u8>, ScheduleError>>) {
        // A thread inherits the processor of the one that starts it, which needs that for itself.
        let _ = unpin();
        let mut left = self.header.ios;
        while left > 0 {
            let ios = left.min(CHUNK_IOS as u64);
            left -= ios;
            let chunk = self.chunk(ios as usize);
            let is_broken = chunk.is_err();
            if chunks.send(chunk).is_err() || is_broken {
                return;
            }
        }
    }

    fn chunk(&mut self, ios: usize) -> Result<Vec<u8>, ScheduleError> {
        let length = self.header.record_bytes();
        let mut chunk = vec![0; ios * length];
        self.file.read_exact(&mut chunk).map_err(ScheduleError::file(&self.path))?;
        for record in chunk.chunks_exact(length) {
            let io = ScheduledIo::check(record, &self.header, self.before_ns)
                .map_err(|reason| ScheduleError::damaged(&self.path, reason))?;
            self.before_ns = io.due_ns;
        }
        Ok(chunk)
    }
}

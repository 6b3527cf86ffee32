//! The hot side: what a worker thread does for each I/O.

use super::figures::{Shared, Waits};
use super::record::{CapturedIo, Chunk, Record};
use super::writer::Message;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SendError, SyncSender, TryRecvError};
use std::time::Instant;

/// Takes the I/Os of one thread. Dropping it hands over what it holds.
#[derive(Debug)]
pub struct Tap {
    chunk: Chunk,
    chunk_ios: usize,
    /// Waits since the step began.
    waits: Waits,
    filled: SyncSender<Message>,
    empty: Receiver<Chunk>,
    shared: Arc<Shared>,
}

impl Tap {
    pub(super) fn new(
        chunk: Chunk,
        filled: SyncSender<Message>,
        empty: Receiver<Chunk>,
        shared: Arc<Shared>,
    ) -> Self {
        shared.taps.fetch_add(1, Relaxed);
        let chunk_ios = chunk.records.capacity();
        Self { chunk, chunk_ios, waits: Waits::default(), filled, empty, shared }
    }

    /// Record an I/O of this step. Waits for the writer if all of the thread's chunks are full. An I/O of
    /// another step than the one before ends that step.
    #[inline]
    pub fn record(&mut self, step: u32, io: CapturedIo) {
        if self.chunk.step != step || self.chunk.records.len() == self.chunk.records.capacity() {
            self.make_room(step);
        }
        self.chunk.records.push(Record::from(io));
    }

    /// Hand over what the step has left, so that it goes to disk now; tell how this thread was slowed down
    /// in the step.
    pub fn end_of_step(&mut self) -> Waits {
        self.hand_over();
        std::mem::take(&mut self.waits)
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, step: u32) {
        if self.chunk.step == step {
            self.hand_over();
        } else {
            self.end_of_step();
        }
        // Room is asked for only when there is something to put in: the end of a step never waits.
        if self.chunk.records.capacity() == 0 {
            self.chunk = self.next_empty();
        }
        self.chunk.step = step;
    }

    /// Send the chunk, which leaves one without room. Without a writer it comes back, and what it held
    /// counts as discarded.
    fn hand_over(&mut self) {
        let ios = self.chunk.records.len() as u64;
        if ios == 0 {
            return;
        }
        self.shared.recorded.fetch_add(ios, Relaxed);
        let roomless = Chunk::without_room(self.chunk.thread, self.chunk.step);
        let full = std::mem::replace(&mut self.chunk, roomless);
        if let Err(SendError(Message::Filled(mut full))) = self.filled.send(Message::Filled(full)) {
            self.shared.discarded.fetch_add(ios, Relaxed);
            full.empty();
            self.chunk = full;
        }
    }

    /// An empty chunk from the writer, or a new one if there is no writer any more.
    fn next_empty(&mut self) -> Chunk {
        let waited = match self.empty.try_recv() {
            Ok(chunk) => return chunk,
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => {
                let began = Instant::now();
                let chunk = self.empty.recv();
                let wait = Waits::once(began.elapsed());
                self.waits.add(wait);
                self.shared.add_waits(wait);
                chunk.ok().map(|chunk| Chunk { waits: wait, ..chunk })
            }
        };
        waited.unwrap_or_else(|| Chunk::new(self.chunk.thread, self.chunk_ios))
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.end_of_step();
        self.shared.taps.fetch_sub(1, Relaxed);
    }
}

//! Sorts I/Os in any order, on disk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use super::super::reader::BATCH_IOS;
use super::super::tally::Tally;
use super::super::traced_io::TracedIo;
use super::record::{RECORD_BYTES, decode, encode};
use super::window::BACKWARD;

/// I/Os that are sorted at once in memory.
const RUN_IOS: usize = 1 << 18;
/// Runs that are merged at once; as many times this many I/Os of each are in memory.
const PIECE_IOS: usize = 512;

/// Collects I/Os, and hands them out in order once there are no more.
#[derive(Default)]
pub(in super::super) struct External {
    collected: Vec<TracedIo>,
    newest_ns: Option<i64>,
    /// Without a name, so that nothing is left of it.
    file: Option<File>,
    runs: Vec<Run>,
    heads: BinaryHeap<Reverse<(i64, usize)>>,
    is_merging: bool,
    handed_out: usize,
}

/// A part of the file that is in order.
struct Run {
    next_byte: u64,
    end_byte: u64,
    /// The next ones, the last first.
    piece: Vec<TracedIo>,
}

impl External {
    /// Take the I/Os of a batch, which is empty afterwards.
    pub(in super::super) fn push(&mut self, batch: &mut Vec<TracedIo>, tally: &mut Tally) -> io::Result<()> {
        for io in batch.iter() {
            if self.newest_ns.is_some_and(|newest_ns| io.issued_ns < newest_ns) {
                tally.note(BACKWARD);
            }
            self.newest_ns = self.newest_ns.max(Some(io.issued_ns));
        }
        self.collected.append(batch);
        if self.collected.len() >= RUN_IOS { self.end_run() } else { Ok(()) }
    }

    fn end_run(&mut self) -> io::Result<()> {
        self.collected.sort_by_key(|io| io.issued_ns);
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let file = self.file.as_mut().expect("just made");
        let next_byte = self.runs.last().map_or(0, |run| run.end_byte);
        let mut bytes = Vec::with_capacity(PIECE_IOS * RECORD_BYTES);
        for piece in self.collected.chunks(PIECE_IOS) {
            bytes.clear();
            piece.iter().for_each(|io| encode(io, &mut bytes));
            file.write_all(&bytes)?;
        }
        let end_byte = next_byte + (self.collected.len() * RECORD_BYTES) as u64;
        self.runs.push(Run { next_byte, end_byte, piece: Vec::new() });
        self.collected.clear();
        Ok(())
    }

    /// Add I/Os to a batch, once all were taken; false if there are no more.
    pub(in super::super) fn pop(&mut self, batch: &mut Vec<TracedIo>) -> io::Result<bool> {
        if !self.is_merging {
            self.is_merging = true;
            if self.file.is_none() {
                self.collected.sort_by_key(|io| io.issued_ns);
            } else {
                self.end_run()?;
                self.collected = Vec::new();
                for number in 0..self.runs.len() {
                    self.refill(number)?;
                }
            }
        }
        if self.file.is_none() {
            let end = (self.handed_out + BATCH_IOS).min(self.collected.len());
            batch.extend_from_slice(&self.collected[self.handed_out..end]);
            self.handed_out = end;
            return Ok(!batch.is_empty());
        }
        while batch.len() < BATCH_IOS {
            // Of equal times the earlier run is first, as the order is to be stable.
            let Some(Reverse((_, number))) = self.heads.pop() else { break };
            batch.extend(self.runs[number].piece.pop());
            self.refill(number)?;
        }
        Ok(!batch.is_empty())
    }

    /// Put the next I/O of a run in the heap.
    fn refill(&mut self, number: usize) -> io::Result<()> {
        let run = &mut self.runs[number];
        if run.piece.is_empty() && run.next_byte < run.end_byte {
            let length = (run.end_byte - run.next_byte).min((PIECE_IOS * RECORD_BYTES) as u64);
            let mut bytes = vec![0; length as usize];
            self.file.as_ref().expect("runs are in it").read_exact_at(&mut bytes, run.next_byte)?;
            run.piece.extend(bytes.chunks_exact(RECORD_BYTES).map(decode).rev());
            run.next_byte += length;
        }
        if let Some(io) = run.piece.last() {
            self.heads.push(Reverse((io.issued_ns, number)));
        }
        Ok(())
    }
}

//! Sorts I/Os that are nearly in order, in bounded memory.

use std::collections::VecDeque;

use super::super::reader::BATCH_IOS;
use super::super::tally::Tally;
use super::super::traced_io::TracedIo;
use super::WINDOW_IOS;

/// An I/O that comes too late for its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Late {
    pub(in super::super) io: TracedIo,
    /// How much earlier it was issued than one that came before it.
    pub(in super::super) by_ns: i64,
}

/// The I/Os that may still get others before them, in blocks of which each is in order, and all are.
///
/// What is in order costs a comparison for each I/O; what is not costs sorting the blocks that it reaches into.
pub(in super::super) struct Window {
    blocks: VecDeque<Vec<TracedIo>>,
    ios: usize,
    window_ns: i64,
    newest_ns: Option<i64>,
    handed_out_ns: i64,
    /// The first I/O of all, if the second is far before it.
    outlier: Option<TracedIo>,
    spare: Vec<Vec<TracedIo>>,
}

impl Window {
    pub(in super::super) const fn new(window_ns: i64) -> Self {
        Self {
            blocks: VecDeque::new(),
            ios: 0,
            window_ns,
            newest_ns: None,
            handed_out_ns: i64::MIN,
            outlier: None,
            spare: Vec::new(),
        }
    }

    /// Take the I/Os of a batch, which is empty afterwards.
    pub(in super::super) fn push(
        &mut self,
        batch: &mut Vec<TracedIo>,
        tally: &mut Tally,
    ) -> Result<(), Late> {
        if self.newest_ns.is_none() && batch.len() > 1 {
            let first = batch[0];
            if first.issued_ns.saturating_sub(batch[1].issued_ns) > self.window_ns {
                tally.note(BACKWARD);
                self.outlier = Some(batch.remove(0));
            }
        }
        let Some(first) = batch.first() else { return Ok(()) };
        let mut newest_ns = self.newest_ns.unwrap_or(first.issued_ns);
        let mut in_order = true;
        for io in batch.iter() {
            if io.issued_ns >= newest_ns {
                newest_ns = io.issued_ns;
                continue;
            }
            in_order = false;
            tally.note(BACKWARD);
            let by_ns = newest_ns.saturating_sub(io.issued_ns);
            if by_ns > self.window_ns || io.issued_ns < self.handed_out_ns {
                return Err(Late { io: *io, by_ns });
            }
        }
        self.newest_ns = Some(newest_ns);
        if let Some(outlier) = self.outlier.take_if(|outlier| outlier.issued_ns <= newest_ns) {
            batch.insert(0, outlier);
            in_order = false;
        }
        let fresh = self.spare.pop().unwrap_or_default();
        let block = std::mem::replace(batch, fresh);
        self.ios += block.len();
        if in_order {
            self.blocks.push_back(block)
        } else {
            self.insert(block)
        }
        Ok(())
    }

    /// Sort a block in among those that it reaches into.
    fn insert(&mut self, block: Vec<TracedIo>) {
        let earliest_ns = block.iter().map(|io| io.issued_ns).min().unwrap_or(i64::MAX);
        let reached = |last: &Vec<TracedIo>| last.last().is_some_and(|io| io.issued_ns > earliest_ns);
        let mut apart = vec![block];
        while self.blocks.back().is_some_and(reached) {
            apart.extend(self.blocks.pop_back());
        }
        let mut together = Vec::with_capacity(apart.iter().map(Vec::len).sum());
        while let Some(mut block) = apart.pop() {
            together.append(&mut block);
            self.keep(block);
        }
        // Stable: those of equal times stay in the order of the source.
        together.sort_by_key(|io| io.issued_ns);
        for part in together.chunks(BATCH_IOS) {
            let mut block = self.spare.pop().unwrap_or_default();
            block.extend_from_slice(part);
            self.blocks.push_back(block);
        }
    }

    fn keep(&mut self, block: Vec<TracedIo>) {
        if self.spare.len() < 4 {
            self.spare.push(block);
        }
    }

    /// Exchange an empty batch for I/Os before which no others can come, or, at the end, for any.
    pub(in super::super) fn pop(&mut self, batch: &mut Vec<TracedIo>, at_end: bool) -> bool {
        if at_end && let Some(outlier) = self.outlier.take() {
            self.ios += 1;
            self.insert(vec![outlier]);
        }
        let Some(last_ns) = self.blocks.front().and_then(|block| block.last()).map(|io| io.issued_ns) else {
            return false;
        };
        let newest_ns = self.newest_ns.unwrap_or(last_ns);
        let is_due = last_ns < newest_ns.saturating_sub(self.window_ns) || self.ios > WINDOW_IOS;
        if !at_end && !is_due {
            return false;
        }
        let block = self.blocks.pop_front().expect("just looked at");
        self.ios -= block.len();
        self.handed_out_ns = last_ns;
        let empty = std::mem::replace(batch, block);
        self.keep(empty);
        true
    }
}

/// What is said of I/Os that are earlier than one before them.
pub(super) const BACKWARD: &str = "times that run backward";

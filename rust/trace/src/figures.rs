//! A dozen figures of a trace, in one pass and in bounded memory.
//!
//! Sums are exact. Blocks of 4 KiB are counted exactly up to 2^20 of them, and by a sample by hash beyond, whose 95 %
//! error is given. What the trace does not tell is `null`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use serde::Serialize;

use super::error::TraceError;
use super::traced_io::{Status, TracedIo, TracedOperation};

const BLOCK_BYTES: u64 = 4096;
/// Blocks that are followed one by one.
const MOST_BLOCKS: usize = 1 << 20;
/// The bits of a hash that decide about the sample; the table uses those below and above.
const SAMPLE_SHIFT: u32 = 24;
/// Runs that are followed at once, of each operation in an ordering domain.
const RUNS: usize = 32;
/// Sizes that are counted one by one, and those that are reported.
const MOST_SIZES: usize = 1 << 14;
const REPORTED_SIZES: usize = 5;
/// I/Os in flight at once beyond which completions can't be right.
const MOST_IN_FLIGHT: usize = 1 << 22;
const SECOND_NS: u64 = 1_000_000_000;

/// I/Os and bytes of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// I/Os.
    pub ios: u64,
    /// Sum of their lengths.
    pub bytes: u64,
}

/// How many were in flight, weighted by time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Depth {
    /// Over the time from the first issue to the last event.
    pub mean: f64,
    /// At most.
    pub max: u64,
}

/// What a trace is like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// By operation; zone appends are writes.
    pub operations: BTreeMap<&'static str, Moved>,
    /// Length and number of the most frequent reads and writes, the first with the most.
    pub sizes: Vec<(u64, u64)>,
    /// From the first issue to the last.
    pub span_ns: u64,
    /// I/Os of the busiest whole second since the first issue.
    pub most_in_a_second: u64,
    /// `null` without completions.
    pub depth: Option<Depth>,
    /// Share of reads, and of writes, that begin where one of the last 32 runs of their operation ended.
    pub sequential: BTreeMap<&'static str, f64>,
    /// Distinct blocks of 4 KiB that were read or written.
    pub footprint_bytes: u64,
    /// 95 % of footprints are within this share of it; 0: it is exact.
    pub footprint_error: f64,
    /// Share of accesses to blocks that go to the hottest per cent of them; `null` without blocks.
    pub hottest_share: Option<f64>,
}

/// Takes I/Os in the order of their issue.
#[derive(Default)]
pub struct FigureTally {
    operations: BTreeMap<&'static str, Moved>,
    sizes: HashMap<u64, u64>,
    start_ns: Option<i64>,
    last_ns: i64,
    second: u64,
    in_second: u64,
    most_in_a_second: u64,
    flight: Flight,
    /// Ends of the last runs, the last one first, by device, domain and whether they write.
    runs: HashMap<(u16, u16, bool), Vec<u64>>,
    sequential: BTreeMap<&'static str, u64>,
    blocks: Blocks,
}

impl FigureTally {
    /// Take the next I/O.
    ///
    /// # Errors
    /// If so many are in flight that completions can't be right.
    pub fn push(&mut self, io: &TracedIo) -> Result<(), TraceError> {
        let operation = match io.operation {
            TracedOperation::ZoneAppend => TracedOperation::Write,
            other => other,
        };
        let moved = self.operations.entry(operation.name()).or_default();
        moved.ios += 1;
        moved.bytes = moved.bytes.saturating_add(io.length_bytes);
        let start_ns = *self.start_ns.get_or_insert(io.issued_ns);
        self.last_ns = io.issued_ns;
        let second = start_ns.abs_diff(io.issued_ns) / SECOND_NS;
        if second != self.second {
            (self.second, self.in_second) = (second, 0);
        }
        self.in_second += 1;
        self.most_in_a_second = self.most_in_a_second.max(self.in_second);
        self.flight.issue(io)?;
        if operation.transfers() {
            self.transfer(operation, io);
        }
        Ok(())
    }

    fn transfer(&mut self, operation: TracedOperation, io: &TracedIo) {
        if self.sizes.len() < MOST_SIZES || self.sizes.contains_key(&io.length_bytes) {
            *self.sizes.entry(io.length_bytes).or_default() += 1;
        }
        let is_write = operation == TracedOperation::Write;
        let ends = self.runs.entry((io.device, io.domain, is_write)).or_default();
        let found = ends.iter().position(|end| *end == io.offset_bytes);
        match found {
            Some(place) => ends[..=place].rotate_right(1),
            None if ends.len() < RUNS => ends.insert(0, 0),
            None => ends.rotate_right(1),
        }
        ends[0] = io.end_bytes();
        *self.sequential.entry(operation.name()).or_default() += u64::from(found.is_some());
        self.blocks.touch(io);
    }

    /// All figures.
    #[must_use]
    pub fn finish(mut self) -> Figures {
        let start_ns = self.start_ns.unwrap_or(0);
        let mut sizes: Vec<_> = self.sizes.into_iter().collect();
        sizes.sort_unstable_by_key(|(size, ios)| (Reverse(*ios), *size));
        sizes.truncate(REPORTED_SIZES);
        let operations = self.operations;
        let share = |(name, ios): (&'static str, u64)| (name, ios as f64 / operations[name].ios as f64);
        Figures {
            sizes,
            span_ns: start_ns.abs_diff(self.last_ns),
            most_in_a_second: self.most_in_a_second,
            depth: self.flight.finish(start_ns, self.last_ns),
            sequential: self.sequential.into_iter().map(share).collect(),
            footprint_bytes: self.blocks.counts.len() as u64 * self.blocks.weight() * BLOCK_BYTES,
            footprint_error: self.blocks.error(),
            hottest_share: self.blocks.hottest_share(),
            operations,
        }
    }
}

/// I/Os in flight, over time.
#[derive(Default)]
struct Flight {
    completions: BinaryHeap<Reverse<i64>>,
    /// Those whose completion was not seen: they stay to the end.
    endless: u64,
    now_ns: Option<i64>,
    area_ns: u128,
    most: u64,
    has_completions: bool,
}

impl Flight {
    fn depth(&self) -> u64 {
        self.completions.len() as u64 + self.endless
    }

    fn advance(&mut self, until_ns: i64) {
        let mut now_ns = self.now_ns.unwrap_or(until_ns);
        while let Some(&Reverse(completed_ns)) = self.completions.peek()
            && completed_ns <= until_ns
        {
            self.area_ns += u128::from(self.depth()) * u128::from(now_ns.abs_diff(completed_ns.max(now_ns)));
            now_ns = now_ns.max(completed_ns);
            self.completions.pop();
        }
        self.area_ns += u128::from(self.depth()) * u128::from(now_ns.abs_diff(until_ns));
        self.now_ns = Some(until_ns);
    }

    fn issue(&mut self, io: &TracedIo) -> Result<(), TraceError> {
        self.advance(io.issued_ns);
        match io.completed_ns {
            Some(completed_ns) if completed_ns >= io.issued_ns => {
                self.has_completions = true;
                self.completions.push(Reverse(completed_ns));
            }
            None if io.status == Status::NoCompletionSeen => self.endless += 1,
            Some(_) | None => {}
        }
        self.most = self.most.max(self.depth());
        if self.completions.len() <= MOST_IN_FLIGHT {
            return Ok(());
        }
        Err(TraceError::Refused(format!(
            "can't follow the queue depth: more than {MOST_IN_FLIGHT} I/Os are in flight at once, so their completions \
             can't be right"
        )))
    }

    fn finish(&mut self, start_ns: i64, last_ns: i64) -> Option<Depth> {
        if !self.has_completions {
            return None;
        }
        let end_ns = self.completions.iter().map(|Reverse(completed_ns)| *completed_ns).max();
        let end_ns = end_ns.unwrap_or(last_ns).max(last_ns);
        self.advance(end_ns);
        let span_ns = start_ns.abs_diff(end_ns).max(1);
        Some(Depth { mean: self.area_ns as f64 / span_ns as f64, max: self.most })
    }
}

/// Accesses by block: of all blocks, or of one of 2^`halvings` by hash.
#[derive(Default)]
struct Blocks {
    counts: HashMap<u64, u32>,
    halvings: u32,
}

impl Blocks {
    const fn weight(&self) -> u64 {
        1 << self.halvings
    }

    fn touch(&mut self, io: &TracedIo) {
        if io.length_bytes == 0 {
            return;
        }
        let mask = self.weight() - 1;
        for block in io.offset_bytes / BLOCK_BYTES..=(io.end_bytes() - 1) / BLOCK_BYTES {
            let name = name_of(io.device, block);
            if (name >> SAMPLE_SHIFT) & mask == 0 {
                *self.counts.entry(name).or_default() += 1;
            }
        }
        while self.counts.len() > MOST_BLOCKS {
            self.halvings += 1;
            let mask = self.weight() - 1;
            self.counts.retain(|name, _| (name >> SAMPLE_SHIFT) & mask == 0);
        }
    }

    fn error(&self) -> f64 {
        if self.halvings == 0 {
            return 0.0;
        }
        1.96 * ((1.0 - 1.0 / self.weight() as f64) / self.counts.len() as f64).sqrt()
    }

    /// Blocks at the edge of the hottest per cent count in part.
    fn hottest_share(&self) -> Option<f64> {
        let mut falling: Vec<u32> = self.counts.values().copied().collect();
        if falling.is_empty() {
            return None;
        }
        falling.sort_unstable_by_key(|accesses| Reverse(*accesses));
        let blocks = falling.len() as f64 / 100.0;
        let whole = blocks.floor() as usize;
        let sum: f64 = falling[..whole].iter().map(|accesses| f64::from(*accesses)).sum();
        let edge = f64::from(falling[whole]) * (blocks - whole as f64);
        Some((sum + edge) / falling.iter().map(|accesses| f64::from(*accesses)).sum::<f64>())
    }
}

/// A block's name: its device and number, mixed so that no two are the same.
fn name_of(device: u16, block: u64) -> u64 {
    let mut word = block ^ (u64::from(device) << 48);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

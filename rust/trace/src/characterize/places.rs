//! Where I/Os go relative to those before: sequential, near, random, and how far.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::values::{Distribution, ratio};
use crate::steps::{Kind, Sequences, WINDOW_RUNS};
use crate::traced_io::TracedIo;

/// Bytes between two I/Os that are near each other, at most.
const NEAR_BYTES: u64 = 64 * 512;
/// Bytes from which on a near run counts as a sequential stream.
const STREAM_BYTES: u64 = 1024 * 512;
/// I/Os with which one is compared, and the distance from all of them that makes it random.
const LAST_IOS: usize = 32;
const RANDOM_BYTES: u64 = 128 << 10;

#[derive(Clone, Copy, Debug)]
struct Run {
    end: u64,
    ios: u64,
    bytes: u64,
}

/// Runs of one operation in one domain, the last continued first.
#[derive(Clone, Debug, Default)]
struct Open(Vec<Run>);

/// Runs with gaps up to a limit.
#[derive(Clone, Debug, Default)]
struct Runs {
    gap_bytes: u64,
    open: HashMap<(u16, u16), Open>,
    continued_ios: u64,
    continued_bytes: u64,
    ended: u64,
    streams: u64,
    stream_ios: u64,
    run_ios: Distribution,
    run_bytes: Distribution,
}

impl Runs {
    fn push(&mut self, io: &TracedIo) {
        let gap_bytes = self.gap_bytes;
        let open = &mut self.open.entry((io.device, io.domain)).or_default().0;
        let follows = |run: &Run| io.offset_bytes.checked_sub(run.end).is_some_and(|gap| gap <= gap_bytes);
        let found = open.iter().position(follows);
        let mut over = None;
        match found {
            Some(place) => {
                self.continued_ios += 1;
                self.continued_bytes += io.length_bytes;
                open[..=place].rotate_right(1);
            }
            None => {
                if open.len() == WINDOW_RUNS {
                    over = open.pop();
                }
                open.insert(0, Run { end: 0, ios: 0, bytes: 0 });
            }
        }
        let run = &mut open[0];
        *run = Run { end: io.end_bytes(), ios: run.ios + 1, bytes: run.bytes + io.length_bytes };
        if let Some(run) = over {
            self.end(run);
        }
    }

    fn end(&mut self, run: Run) {
        self.ended += 1;
        self.run_ios.record(run.ios);
        self.run_bytes.record(run.bytes);
        if run.bytes >= STREAM_BYTES {
            self.streams += 1;
            self.stream_ios += run.ios;
        }
    }

    fn into_json(mut self, ios: u64) -> Value {
        let open: BTreeMap<_, _> = std::mem::take(&mut self.open).into_iter().collect();
        open.into_values().flat_map(|open| open.0).for_each(|run| self.end(run));
        json!({
            "ios": self.continued_ios, "share_of_ios": ratio(self.continued_ios, ios),
            "bytes": self.continued_bytes, "runs": self.ended,
            "run_ios": self.run_ios.to_json(), "run_bytes": self.run_bytes.to_json(),
            "streams_from_512k": self.streams, "share_in_streams_from_512k": ratio(self.stream_ios, ios),
        })
    }
}

/// Of one operation.
#[derive(Clone, Debug)]
struct Operation {
    ios: u64,
    strict_ios: u64,
    strict_bytes: u64,
    windowed: Runs,
    near: Runs,
    random_ios: u64,
}

impl Default for Operation {
    fn default() -> Self {
        Self {
            ios: 0,
            strict_ios: 0,
            strict_bytes: 0,
            windowed: Runs::default(),
            near: Runs { gap_bytes: NEAR_BYTES, ..Runs::default() },
            random_ios: 0,
        }
    }
}

/// The last offsets of a device, and where its last I/O ended.
#[derive(Clone, Debug, Default)]
struct Before {
    offsets: Vec<u64>,
    next: usize,
    end: u64,
}

impl Before {
    /// Whether this offset is far from all of them; then it is one of them.
    fn is_far(&mut self, offset: u64) -> bool {
        let is_far = self.offsets.iter().all(|other| other.abs_diff(offset) > RANDOM_BYTES);
        if self.offsets.len() < LAST_IOS {
            self.offsets.push(offset);
        } else {
            self.offsets[self.next] = offset;
            self.next = (self.next + 1) % LAST_IOS;
        }
        is_far
    }
}

/// Reads and writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    sequences: Sequences,
    operations: [Operation; 2],
    before: HashMap<u16, Before>,
    /// By sign and exponent: bytes from 2^exponent on, up to its double.
    seeks: BTreeMap<(i8, u32), u64>,
}

impl Places {
    pub(super) fn push(&mut self, kind: Kind, io: &TracedIo) {
        if !kind.has_pattern() {
            return;
        }
        let is_first = !self.before.contains_key(&io.device);
        let before = self.before.entry(io.device).or_default();
        if !is_first {
            let seek = match io.offset_bytes.checked_sub(before.end) {
                Some(0) => (0, 0),
                Some(forth) => (1, forth.ilog2()),
                None => (-1, (before.end - io.offset_bytes).ilog2()),
            };
            *self.seeks.entry(seek).or_default() += 1;
        }
        before.end = io.end_bytes();
        let is_far = before.is_far(io.offset_bytes);
        let verdict = self.sequences.judge(io);
        let operation = &mut self.operations[kind as usize];
        operation.ios += 1;
        operation.random_ios += u64::from(is_far && !is_first);
        if verdict.pattern == crate::steps::Pattern::Sequential {
            operation.strict_ios += 1;
            operation.strict_bytes += io.length_bytes;
        }
        operation.windowed.push(io);
        operation.near.push(io);
    }

    pub(super) fn into_json(self) -> Value {
        let mut by_operation = serde_json::Map::new();
        for (kind, operation) in [Kind::Read, Kind::Write].into_iter().zip(self.operations) {
            if operation.ios == 0 {
                continue;
            }
            let ios = operation.ios;
            let figures = json!({
                "ios": ios,
                "strict": {
                    "ios": operation.strict_ios, "share_of_ios": ratio(operation.strict_ios, ios),
                    "bytes": operation.strict_bytes,
                },
                "windowed": operation.windowed.into_json(ios),
                "near": operation.near.into_json(ios),
                "random_by_distance": {
                    "ios": operation.random_ios, "share_of_ios": ratio(operation.random_ios, ios),
                },
            });
            by_operation.insert(kind.name().to_owned(), figures);
        }
        let seeks: Vec<_> = self.seeks.iter().map(|((sign, exponent), n)| (sign, exponent, n)).collect();
        json!({"by_operation": by_operation, "seeks_log2": seeks})
    }
}

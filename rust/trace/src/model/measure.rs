//! What a model needs to know of a trace beyond its figures: trains, what follows what, where runs begin.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::form::RANKS;
use crate::characterize::{UseOrder, name_of, touched};
use crate::steps::WINDOW_RUNS;
use crate::traced_io::{TracedIo, TracedOperation};

/// Parts of the trace with rates of their own.
const PARTS: usize = 1024;
/// Classes of trains by length.
const MOST_CLASSES: usize = 8;

/// A distribution: least, most and count of each quarter of an octave.
#[derive(Clone, Debug, Default)]
struct Bins(BTreeMap<u64, (u64, u64, u64)>);

impl Bins {
    fn record(&mut self, value: u64, count: u64) {
        let shift = value.max(4).ilog2() - 2;
        let bin = value >> shift << shift;
        let entry = self.0.entry(bin).or_insert((value, value, 0));
        *entry = (entry.0.min(value), entry.1.max(value), entry.2 + count);
    }

    fn to_json(&self) -> Value {
        json!(self.0.values().collect::<Vec<_>>())
    }
}

/// Of an operation.
#[derive(Default)]
struct Operation {
    ends: Vec<(u16, u64)>,
    has_continued: bool,
    ranks: [u64; RANKS.len() - 1],
    order: UseOrder,
    starts: u64,
    first: u64,
    first_of_other: u64,
    distances: Bins,
}

/// Trains of some streams.
struct Coupling {
    streams: Vec<usize>,
    train_gap_ns: u64,
    train: Option<Train>,
    lengths: Bins,
    within: Bins,
    between: Bins,
    first: Vec<Vec<u64>>,
    next: Vec<Vec<u64>>,
}

/// A train that goes on.
struct Train {
    first: usize,
    length: u64,
    last: usize,
    last_ns: i64,
}

/// Which operation, and how long.
pub type Modeled = (TracedOperation, u64);

/// Takes I/Os in the order of their issue.
pub struct Modeler {
    streams: Vec<Modeled>,
    couplings: Vec<Coupling>,
    operations: [Operation; 2],
    /// I/Os of a stream and those that go on with a run, after one of the operation that did not, and that did.
    continues: Vec<[[u64; 2]; 2]>,
    /// When the first part of the trace begins, how long each is, and I/Os by part and stream.
    start_ns: i64,
    part_ns: u64,
    parts: Vec<Vec<u32>>,
    /// Runs that a stream begins, and those at a multiple of its length.
    aligned: Vec<[u64; 2]>,
}

impl Coupling {
    fn new(streams: Vec<usize>, train_gap_ns: u64, all: usize) -> Self {
        Self {
            streams,
            train_gap_ns,
            train: None,
            lengths: Bins::default(),
            within: Bins::default(),
            between: Bins::default(),
            first: vec![vec![0; all]; MOST_CLASSES],
            next: vec![vec![0; all]; all],
        }
    }

    fn push(&mut self, stream: usize, at_ns: i64) {
        if let Some(train) = &mut self.train {
            let gap_ns = at_ns.abs_diff(train.last_ns);
            if gap_ns <= self.train_gap_ns {
                self.within.record(gap_ns, 1);
                self.next[train.last][stream] += 1;
                (train.length, train.last, train.last_ns) = (train.length + 1, stream, at_ns);
                return;
            }
            self.between.record(gap_ns, 1);
        }
        self.end_train();
        self.train = Some(Train { first: stream, length: 1, last: stream, last_ns: at_ns });
    }

    fn end_train(&mut self) {
        let Some(train) = self.train.take() else { return };
        self.lengths.record(train.length, 1);
        self.first[(train.length.ilog2() as usize).min(MOST_CLASSES - 1)][train.first] += 1;
    }

    fn to_json(&self) -> Value {
        json!({
            "lengths": self.lengths.to_json(), "gaps_within_ns": self.within.to_json(),
            "gaps_between_ns": self.between.to_json(), "first": self.first, "next": self.next,
        })
    }
}

impl Modeler {
    /// Of these streams; others are left out. A coupling has the numbers of its streams, and the largest gap
    /// within a train of them. I/Os are counted in equal parts of a span.
    #[must_use]
    pub fn new(
        streams: Vec<Modeled>,
        couplings: Vec<(Vec<usize>, u64)>,
        span_ns: std::ops::Range<i64>,
    ) -> Self {
        let n = streams.len();
        let part_ns = span_ns.start.abs_diff(span_ns.end).div_ceil(PARTS as u64).max(1);
        Self {
            streams,
            couplings: couplings.into_iter().map(|(which, gap_ns)| Coupling::new(which, gap_ns, n)).collect(),
            operations: Default::default(),
            continues: vec![[[0; 2]; 2]; n],
            start_ns: span_ns.start,
            part_ns,
            parts: vec![vec![0; n]; PARTS],
            aligned: vec![[0; 2]; n],
        }
    }

    /// Take the next I/O.
    pub fn push(&mut self, io: &TracedIo) {
        let operation = match io.operation {
            TracedOperation::ZoneAppend => TracedOperation::Write,
            other => other,
        };
        let known = self.streams.iter().position(|stream| *stream == (operation, io.length_bytes));
        match operation {
            TracedOperation::Read => self.place(0, known, io),
            TracedOperation::Write => self.place(1, known, io),
            _ => (),
        }
        if let Some(stream) = known {
            let part = self.start_ns.abs_diff(io.issued_ns) / self.part_ns;
            self.parts[(part as usize).min(PARTS - 1)][stream] += 1;
            let with_it = self.couplings.iter_mut().filter(|coupling| coupling.streams.contains(&stream));
            with_it.for_each(|coupling| coupling.push(stream, io.issued_ns));
        }
    }

    fn place(&mut self, number: usize, stream: Option<usize>, io: &TracedIo) {
        let blocks = touched(io);
        let first = name_of(io.device, *blocks.start());
        let is_of_other = self.operations[1 - number].order.has_used(first);
        let operation = &mut self.operations[number];
        let rank = operation.ends.iter().position(|end| *end == (io.device, io.offset_bytes));
        if let Some(stream) = stream {
            let counts = &mut self.continues[stream][usize::from(operation.has_continued)];
            counts[0] += 1;
            counts[1] += u64::from(rank.is_some());
            if rank.is_none() {
                self.aligned[stream][0] += 1;
                self.aligned[stream][1] += u64::from(io.offset_bytes.is_multiple_of(io.length_bytes.max(1)));
            }
        }
        operation.has_continued = rank.is_some();
        if let Some(rank) = rank {
            operation.ends.remove(rank);
            operation.ranks[RANKS.iter().rposition(|low| *low <= rank).unwrap_or(0)] += 1;
        }
        operation.ends.insert(0, (io.device, io.end_bytes()));
        operation.ends.truncate(WINDOW_RUNS);
        for (block, is_first) in blocks.zip(std::iter::once(true).chain(std::iter::repeat(false))) {
            let used = operation.order.use_block(name_of(io.device, block));
            let Some(found) = used.filter(|_| is_first && rank.is_none()) else { continue };
            operation.starts += found.weight;
            match found.distance {
                Some(distance) => operation.distances.record(distance, found.weight),
                None => {
                    operation.first += found.weight;
                    operation.first_of_other += if is_of_other == Some(true) { found.weight } else { 0 };
                }
            }
        }
    }

    /// As a model has it, in JSON.
    #[must_use]
    pub fn finish(mut self) -> Value {
        self.couplings.iter_mut().for_each(Coupling::end_train);
        let per_10k = |part: u64, whole: u64| (part * 10_000 + whole / 2).checked_div(whole).unwrap_or(0);
        let couplings: Vec<_> = self.couplings.iter().map(Coupling::to_json).collect();
        let aligned: Vec<_> = self.aligned.iter().map(|[all, aligned]| per_10k(*aligned, *all)).collect();
        let places: Vec<_> = (self.operations.iter())
            .map(|operation| {
                json!({
                    "ranks": operation.ranks,
                    "first_per_10k": per_10k(operation.first, operation.starts),
                    "first_of_other_per_10k": per_10k(operation.first_of_other, operation.first),
                    "distances": operation.distances.to_json(),
                })
            })
            .collect();
        let continues: Vec<_> =
            self.continues.iter().map(|counts| counts.map(|[all, on]| per_10k(on, all))).collect();
        json!({
            "part_ns": self.part_ns, "parts": self.parts, "trains": couplings, "continues_per_10k": continues, "aligned_per_10k": aligned,
            "read": places[0], "write": places[1],
        })
    }
}

//! What is done, how it is asked for, and in which lengths.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use openpts_core::histogram::rank_of;

use super::values::{Distribution, PERCENTILES, ratio};
use crate::steps::Kind;
use crate::traced_io::{Flags, Status, TracedIo};

const BLOCK_BYTES: u64 = 4096;
const ALIGNMENTS: [u64; 5] = [512, 4096, 8192, 16_384, 65_536];
const FLAGS: [(&str, Flags); 7] = [
    ("sync", Flags::SYNC),
    ("fua", Flags::FUA),
    ("preflush", Flags::PREFLUSH),
    ("meta", Flags::META),
    ("read_ahead", Flags::READ_AHEAD),
    ("background", Flags::BACKGROUND),
    ("priority", Flags::PRIORITY),
];
/// Lengths that are counted one by one, for each operation.
const MOST_LENGTHS: usize = 1 << 14;
const TOP_LENGTHS: usize = 20;

/// Of one operation.
#[derive(Clone, Debug, Default)]
struct Operation {
    ios: u64,
    bytes: u64,
    failed: u64,
    flags: [u64; FLAGS.len()],
    aligned: [u64; ALIGNMENTS.len()],
    partial: u64,
    lengths: BTreeMap<u64, u64>,
    /// I/Os of lengths beyond those that are counted one by one.
    other_lengths: u64,
    distribution: Distribution,
}

impl Operation {
    fn push(&mut self, io: &TracedIo) {
        self.ios += 1;
        self.bytes = self.bytes.saturating_add(io.length_bytes);
        self.failed += u64::from(matches!(io.status, Status::Failed(_)));
        for (count, (_, flag)) in self.flags.iter_mut().zip(FLAGS) {
            *count += u64::from(io.flags.has(flag));
        }
        let bounds = io.offset_bytes | io.length_bytes;
        for (count, alignment) in self.aligned.iter_mut().zip(ALIGNMENTS) {
            *count += u64::from(bounds.is_multiple_of(alignment));
        }
        self.partial += u64::from(!bounds.is_multiple_of(BLOCK_BYTES));
        self.distribution.record(io.length_bytes);
        if self.lengths.len() < MOST_LENGTHS || self.lengths.contains_key(&io.length_bytes) {
            *self.lengths.entry(io.length_bytes).or_default() += 1;
        } else {
            self.other_lengths += 1;
        }
    }

    /// Exact ones.
    fn percentiles(&self) -> Value {
        let of = |percentile: f64| {
            let mut left = rank_of(percentile, self.ios);
            let holds = |(_, ios): &(&u64, &u64)| {
                let is_here = left <= **ios;
                left = left.saturating_sub(**ios);
                is_here
            };
            (percentile, self.lengths.iter().find(holds).map_or(0, |(length, _)| *length))
        };
        json!(PERCENTILES.map(of))
    }

    fn to_json(&self, all_ios: u64, all_bytes: u64) -> Value {
        let mut top: Vec<_> = self.lengths.iter().map(|(length, ios)| (*length, *ios)).collect();
        top.sort_by_key(|(length, ios)| (std::cmp::Reverse(*ios), *length));
        top.truncate(TOP_LENGTHS);
        let flags: Map<_, _> =
            FLAGS.iter().zip(self.flags).map(|((name, _), n)| ((*name).to_owned(), json!(n))).collect();
        let aligned: Map<_, _> = ALIGNMENTS
            .iter()
            .zip(self.aligned)
            .map(|(bytes, n)| (bytes.to_string(), ratio(n, self.ios)))
            .collect();
        let mut distribution = self.distribution.to_json();
        if self.other_lengths == 0 {
            distribution["percentiles"] = self.percentiles();
        }
        json!({
            "ios": self.ios, "bytes": self.bytes, "failed": self.failed,
            "share_of_ios": ratio(self.ios, all_ios), "share_of_bytes": ratio(self.bytes, all_bytes),
            "flags": flags,
            "lengths": {
                "distribution": distribution, "top": top,
                "distinct": self.lengths.len(), "not_in_table_ios": self.other_lengths,
                "aligned_shares": aligned, "partial_4k_ios": self.partial,
            },
        })
    }
}

/// By operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Mix([Operation; Kind::ALL.len()]);

impl Mix {
    pub(super) fn push(&mut self, kind: Kind, io: &TracedIo) {
        self.0[kind as usize].push(io);
    }

    pub(super) fn ios(&self) -> u64 {
        self.0.iter().map(|operation| operation.ios).sum()
    }

    pub(super) fn to_json(&self) -> Value {
        let bytes = self.0.iter().map(|operation| operation.bytes).sum();
        let by_kind: Map<_, _> = Kind::ALL
            .iter()
            .zip(&self.0)
            .filter(|(_, operation)| operation.ios > 0)
            .map(|(kind, operation)| (kind.name().to_owned(), operation.to_json(self.ios(), bytes)))
            .collect();
        json!({"ios": self.ios(), "bytes": bytes, "by_operation": by_kind})
    }
}

//! How much else is used between two uses of a block, and what a cache of each size would miss.

use serde_json::{Value, json};

use super::blocks::{BLOCK_BYTES, touched};
use super::miss_ratio::{Group, MissRatios};
use super::sample::{GROUPS, Sample, group_of, name_of};
use super::values::bin_of;
use crate::marks::Marks;
use crate::steps::Kind;
use crate::traced_io::TracedIo;
use std::collections::BTreeMap;

/// Blocks that are followed at once.
const MOST_BLOCKS: usize = 1 << 15;
/// Uses after which they are numbered from 0 again.
const MOST_USES: usize = 1 << 18;

/// The blocks of a sample in the order of their last uses, by SHARDS of fixed size.
pub(crate) struct UseOrder {
    last_use: Sample<u32>,
    marks: Marks,
    uses: usize,
}

/// A use of a block of the sample.
pub(crate) struct Use {
    /// Blocks that this one stands for.
    pub(crate) weight: u64,
    /// Distinct blocks that were used since its last use; `None` for the first.
    pub(crate) distance: Option<u64>,
}

impl Default for UseOrder {
    fn default() -> Self {
        Self { last_use: Sample::new(MOST_BLOCKS), marks: Marks::new(MOST_USES), uses: 0 }
    }
}

impl UseOrder {
    /// Whether a block was used; `None` if it is not in the sample.
    pub(crate) fn has_used(&self, name: u64) -> Option<bool> {
        self.last_use.has(name).then(|| self.last_use.blocks.contains_key(&name))
    }

    /// Use a block; `None` if it is not in the sample.
    pub(crate) fn use_block(&mut self, name: u64) -> Option<Use> {
        if !self.last_use.has(name) {
            return None;
        }
        if self.uses == MOST_USES {
            self.renumber();
        }
        let weight = self.last_use.weight();
        let now = self.uses;
        self.uses += 1;
        let last = self.last_use.blocks.insert(name, now as u32);
        let distance = last.map(|last| {
            // every block has one mark, at its last use
            let others = (self.last_use.blocks.len() as i32 - self.marks.sum(last as usize)) as u64;
            self.marks.add(last as usize, -1);
            others * weight
        });
        self.marks.add(now, 1);
        let marks = &mut self.marks;
        while self.last_use.thin(|_, last| marks.add(*last as usize, -1)) {}
        Some(Use { weight, distance })
    }

    /// Give the last uses the lowest numbers, in their order.
    fn renumber(&mut self) {
        let mut uses: Vec<(u32, u64)> =
            self.last_use.blocks.iter().map(|(name, last)| (*last, *name)).collect();
        uses.sort_unstable();
        self.marks = Marks::new(MOST_USES);
        self.uses = uses.len();
        for (place, (_, name)) in uses.into_iter().enumerate() {
            self.last_use.blocks.insert(name, place as u32);
            self.marks.add(place, 1);
        }
    }
}

/// Distances of all reads and writes, in blocks of 4 KiB.
#[derive(Default)]
pub(super) struct Reuse {
    order: UseOrder,
    groups: [Group; GROUPS],
    accesses: u64,
    sampled: u64,
}

impl Reuse {
    pub(super) fn push(&mut self, kind: Kind, io: &TracedIo) {
        if !kind.has_pattern() || io.length_bytes == 0 {
            return;
        }
        let blocks = touched(io);
        self.accesses += blocks.end() - blocks.start() + 1;
        for block in blocks {
            let name = name_of(io.device, block);
            let Some(found) = self.order.use_block(name) else { continue };
            self.sampled += found.weight;
            let group = &mut self.groups[group_of(name)];
            match found.distance {
                Some(distance) => *group.again.entry(bin_of(distance)).or_default() += found.weight,
                None => group.first += found.weight,
            }
        }
    }

    /// `null` without reads and writes.
    pub(super) fn to_json(&self) -> Value {
        if self.accesses == 0 {
            return Value::Null;
        }
        let mut again: BTreeMap<u64, u64> = BTreeMap::new();
        for (distance, n) in self.groups.iter().flat_map(|group| &group.again) {
            *again.entry(*distance).or_default() += n;
        }
        let first: u64 = self.groups.iter().map(|group| group.first).sum();
        let weight = self.order.last_use.weight();
        let ratios = MissRatios {
            groups: &self.groups,
            accesses: self.accesses as f64,
            sampled: self.sampled as f64,
            weight: weight as f64,
        };
        let sizes = (0..48).map(|octave| 1u64 << octave);
        let last = sizes.clone().position(|blocks| again.range(blocks..).next().is_none()).unwrap_or(47);
        let curve: Vec<_> = sizes
            .take(last + 1)
            .map(|blocks| {
                let (ratio, error) = (ratios.ratio(blocks), ratios.error(blocks));
                json!({"cache_bytes": blocks * BLOCK_BYTES, "miss_ratio": ratio, "error": error})
            })
            .collect();
        let distances: Vec<_> = again.iter().map(|(blocks, n)| (blocks * BLOCK_BYTES, n)).collect();
        json!({
            "accesses": self.accesses, "first_uses": first, "distance_bytes": distances, "miss_ratio_curve": curve,
            "sampled_blocks": self.order.last_use.blocks.len(), "sampling_rate": 1.0 / weight as f64,
        })
    }
}

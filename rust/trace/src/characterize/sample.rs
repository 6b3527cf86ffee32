//! Which blocks are followed one by one: all of a small trace, a sample by hash of a large one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Groups of blocks, by hash, whose spread shows the error of a figure.
pub(super) const GROUPS: usize = 16;
/// Half-width of the 95 % interval in standard errors that were estimated from 16 groups.
const STUDENT_95: f64 = 2.131;
/// The bits of a hash that decide about the sample; the table uses those below and above.
const SAMPLE_SHIFT: u32 = 24;

/// Passes on what was hashed already.
#[derive(Clone, Default)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are single words");
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

/// A block's name: its device and number, mixed so that no two are the same.
pub(crate) fn name_of(device: u16, block: u64) -> u64 {
    let mut word = block ^ (u64::from(device) << 48);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

pub(super) const fn group_of(name: u64) -> usize {
    (name >> 60) as usize
}

/// Facts of sampled blocks. One of 2^`halvings` is in the sample, with all of its history.
#[derive(Clone)]
pub(super) struct Sample<T> {
    pub(super) blocks: HashMap<u64, T, BuildHasherDefault<Hashed>>,
    pub(super) halvings: u32,
    capacity: usize,
}

impl<T> Sample<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { blocks: HashMap::default(), halvings: 0, capacity }
    }

    pub(super) const fn has(&self, name: u64) -> bool {
        (name >> SAMPLE_SHIFT) & ((1 << self.halvings) - 1) == 0
    }

    /// Blocks that one of the sample stands for.
    pub(super) const fn weight(&self) -> u64 {
        1 << self.halvings
    }

    /// Leave out half of the blocks if there are too many; true if that was done.
    pub(super) fn thin(&mut self, mut left_out: impl FnMut(u64, &T)) -> bool {
        if self.blocks.len() <= self.capacity {
            return false;
        }
        self.halvings += 1;
        let mask = (1 << self.halvings) - 1;
        self.blocks.retain(|name, fact| {
            let stays = (name >> SAMPLE_SHIFT) & mask == 0;
            if !stays {
                left_out(*name, fact);
            }
            stays
        });
        true
    }

    /// 95 % of counts of blocks are within this share of the true one; 0 if none is estimated.
    pub(super) fn relative_error(&self, sampled: usize) -> f64 {
        if self.halvings == 0 || sampled == 0 {
            return 0.0;
        }
        1.96 * ((1.0 - 1.0 / self.weight() as f64) / sampled as f64).sqrt()
    }
}

/// The 95 % half-width of a total of all groups, each of which is its part of it.
pub(super) fn error_of_total(parts: &[f64; GROUPS]) -> f64 {
    error_of_groups(parts) * GROUPS as f64
}

/// The 95 % half-width of a mean of groups, if it is one of a sample.
pub(super) fn error_of_groups(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if n < 2.0 {
        return f64::NAN;
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    STUDENT_95 * (variance / n).sqrt()
}

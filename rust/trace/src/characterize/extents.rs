//! Places as a set of extents.

use std::collections::BTreeMap;

/// Extents beyond which the set is not followed any more.
const MOST_EXTENTS: usize = 1 << 20;

/// Bytes that were covered at least once, exactly, as long as there are not too many extents.
#[derive(Clone, Debug, Default)]
pub(super) struct Extents {
    /// First byte and the one after the last, by device.
    ends: BTreeMap<(u16, u64), u64>,
    bytes: u64,
    is_full: bool,
}

impl Extents {
    pub(super) fn add(&mut self, device: u16, mut from: u64, mut to: u64) {
        if from >= to || self.is_full {
            return;
        }
        while let Some((&(_, start), &end)) = self.ends.range((device, 0)..=(device, to)).next_back() {
            if end < from {
                break;
            }
            self.ends.remove(&(device, start));
            self.bytes -= end - start;
            (from, to) = (from.min(start), to.max(end));
        }
        self.ends.insert((device, from), to);
        self.bytes += to - from;
        self.is_full = self.ends.len() > MOST_EXTENTS;
    }

    /// `None` if there were too many extents.
    pub(super) fn bytes(&self) -> Option<u64> {
        (!self.is_full).then_some(self.bytes)
    }
}

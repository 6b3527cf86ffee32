//! Time by queue depth.

/// Time spent at depth 0, 1, 2, 3-4, 5-8, and so on up to each power of 2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DepthTimes {
    /// In ns, up to the deepest that was met.
    pub bins_ns: Vec<u64>,
    /// Depth times ns, summed.
    pub area_ns: u64,
    /// The deepest.
    pub max: u64,
}

impl DepthTimes {
    pub(crate) fn spend(&mut self, depth: u64, ns: u64) {
        let bin = bin_of(depth);
        if self.bins_ns.len() <= bin {
            self.bins_ns.resize(bin + 1, 0);
        }
        self.bins_ns[bin] += ns;
        self.area_ns = self.area_ns.saturating_add(depth.saturating_mul(ns));
        self.max = self.max.max(depth);
    }

    /// As long, elsewhere or later.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.bins_ns.len() < other.bins_ns.len() {
            self.bins_ns.resize(other.bins_ns.len(), 0);
        }
        self.bins_ns.iter_mut().zip(&other.bins_ns).for_each(|(mine, theirs)| *mine += theirs);
        self.area_ns = self.area_ns.saturating_add(other.area_ns);
        self.max = self.max.max(other.max);
    }

    /// Time with nothing in flight.
    #[must_use]
    pub fn idle_ns(&self) -> u64 {
        self.bins_ns.first().copied().unwrap_or(0)
    }

    /// Time with at least one I/O in flight.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.bins_ns.iter().skip(1).sum()
    }
}

/// 0, 1, 2, 3-4, 5-8, ...
pub(crate) const fn bin_of(depth: u64) -> usize {
    if depth <= 1 { depth as usize } else { (depth - 1).ilog2() as usize + 2 }
}

#[cfg(test)]
mod tests {
    use super::bin_of;

    #[test]
    fn bins_end_at_powers_of_two() {
        let bins: Vec<_> = [0, 1, 2, 3, 4, 5, 8, 9, 16, 17].map(bin_of).into();
        assert_eq!(bins, [0, 1, 2, 3, 3, 4, 4, 5, 5, 6]);
    }
}

//! LBA segments spread at random over the active range (PTS 6(5)).

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::grid::Grid;
use super::random::Uniform;

/// Equally sized regions of a range that do not overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrangement {
    range: Range<u64>,
    alignment: u64,
    count: u32,
    bytes: u64,
    starts: Arc<[u64]>,
}

impl Arrangement {
    /// Any arrangement of `count` segments on the alignment grid of the range is as likely as any other;
    /// one seed always gives the same.
    pub(super) fn new(range: Range<u64>, alignment: u64, count: u32, bytes: u64, seed: u64) -> Self {
        let room = room(&range, alignment).expect("segments are checked to fit");
        let first = range.start.next_multiple_of(alignment);
        // Without the insides of the segments there are this many grid places, of which each choice of
        // `count` is one arrangement.
        let inside = bytes / alignment - 1;
        let places = room - u64::from(count) * inside;
        let starts = choice(places, u64::from(count), &mut Uniform::for_session(seed))
            .into_iter()
            .zip(0..)
            .map(|(place, index)| first + (place + index * inside) * alignment)
            .collect();
        Self { range, alignment, count, bytes, starts }
    }

    /// Whether it was made of the same values.
    pub(super) fn is_of(&self, range: &Range<u64>, alignment: u64, count: u32, bytes: u64) -> bool {
        (&self.range, self.alignment, self.count, self.bytes) == (range, alignment, count, bytes)
    }

    /// Where the segments begin, in ascending order.
    pub(super) fn starts(&self) -> Arc<[u64]> {
        Arc::clone(&self.starts)
    }
}

/// Number of steps of the alignment that lie whole within the range.
pub(super) fn room(range: &Range<u64>, alignment: u64) -> Option<u64> {
    let first = range.start.checked_next_multiple_of(alignment)?;
    Some(range.end.checked_sub(first)? / alignment)
}

/// `count` of the numbers `0..bound`, each set as likely as any other (Floyd's algorithm).
fn choice(bound: u64, count: u64, random: &mut Uniform) -> BTreeSet<u64> {
    let mut chosen = BTreeSet::new();
    for last in bound - count..bound {
        if !chosen.insert(random.below(last + 1)) {
            chosen.insert(last);
        }
    }
    chosen
}

/// Uniform over all segments and over all places inside of each.
#[derive(Debug)]
pub(super) struct Segments {
    starts: Arc<[u64]>,
    inside: Vec<Grid>,
}

impl Segments {
    /// `inside` are the grids of each size relative to the start of a segment.
    pub(super) fn new(starts: Arc<[u64]>, inside: Vec<Grid>) -> Self {
        Self { starts, inside }
    }

    #[inline]
    pub(super) fn next(&self, size: usize, random: &mut Uniform) -> u64 {
        let segment = random.below(self.starts.len() as u64);
        let grid = self.inside[size];
        let start = self.starts[usize::try_from(segment).expect("an index")];
        start + grid.offset_of(random.below(grid.places()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::{chi_square_p, ks_p};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn segments_lie_aligned_inside_the_range_and_apart(
            start in 0..100_u64,
            spare in 0..500_u64,
            count in 1..100_u32,
            steps in 1..9_u64,
            seed: u64,
        ) {
            let bytes = steps * 4096;
            let start = start * 512;
            let room = start.next_multiple_of(4096) - start + u64::from(count) * bytes + spare * 512;
            let range = start..start + room;
            let starts = Arrangement::new(range.clone(), 4096, count, bytes, seed).starts();
            prop_assert_eq!(starts.len(), count as usize);
            prop_assert!(starts.iter().all(|start| start.is_multiple_of(4096)));
            prop_assert!(starts[0] >= range.start && starts[starts.len() - 1] + bytes <= range.end);
            prop_assert!(starts.windows(2).all(|pair| pair[0] + bytes <= pair[1]), "{:?}", starts);
        }
    }

    #[test]
    fn every_arrangement_is_as_likely_as_any_other() {
        // Two segments of 2 steps in 7 steps leave 3 free: 5 over 2, ten arrangements.
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..10_000 {
            let starts = Arrangement::new(0..7 * 512, 512, 2, 1024, seed).starts();
            *counts.entry(starts.to_vec()).or_insert(0) += 1;
        }
        let counts: Vec<u64> = counts.into_values().collect();
        assert_eq!(counts.len(), 10);
        let p = chi_square_p(&counts, &[1000.0; 10]);
        assert!(p > 1e-4, "{p}");
    }

    #[test]
    fn few_small_segments_begin_uniformly_over_the_range() {
        let range = 1_u64 << 40;
        let mut shares = Vec::new();
        for seed in 0..200 {
            let starts = Arrangement::new(0..range, 4096, 20, 1 << 20, seed).starts();
            shares.extend(starts.iter().map(|start| *start as f64 / range as f64));
        }
        let p = ks_p(&shares, |share| share);
        assert!(p > 1e-4, "{p}");
    }

    #[test]
    fn all_places_of_all_segments_are_used_alike() {
        let arrangement = Arrangement::new(0..1 << 30, 4096, 8, 8 * 4096, 1);
        let inside = Grid::new(&(0..8 * 4096), 4096, 4096).unwrap();
        let segments = Segments::new(arrangement.starts(), vec![inside]);
        let mut random = Uniform::for_thread(1, 0);
        let mut counts = std::collections::BTreeMap::new();
        (0..6400).for_each(|_| *counts.entry(segments.next(0, &mut random)).or_insert(0) += 1);
        let counts: Vec<u64> = counts.into_values().collect();
        assert_eq!(counts.len(), 64);
        let p = chi_square_p(&counts, &[100.0; 64]);
        assert!(p > 1e-4, "{p}");
    }
}

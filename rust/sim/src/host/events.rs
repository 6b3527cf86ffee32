//! What happens next, and where.

use crate::time::{NEVER, Ps};

/// The next moment of each of a fixed number of places, and the earliest of all. Of equal moments the place
/// with the smallest number comes first, so that equal runs have equal orders.
///
/// A winner tree: to change a place costs one comparison on each level, always the same, and no branch that
/// depends on the moments. A heap's would, and its entries could not be changed in place.
#[derive(Debug)]
pub(super) struct Events {
    /// The root is number 1, the children of `n` are `2n` and `2n + 1`; places are the leaves.
    nodes: Box<[u128]>,
    leaves: usize,
}

impl Events {
    /// So many places, at none of which anything happens.
    pub(super) fn new(places: usize) -> Self {
        let leaves = places.next_power_of_two();
        let mut events = Self { nodes: vec![0; 2 * leaves].into(), leaves };
        (0..leaves).for_each(|place| events.nodes[leaves + place] = key(NEVER, place));
        for node in (1..leaves).rev() {
            events.nodes[node] = events.nodes[2 * node].min(events.nodes[2 * node + 1]);
        }
        events
    }

    /// The earliest moment, [`NEVER`] if there is none, and its place.
    #[inline]
    pub(super) fn first(&self) -> (Ps, usize) {
        let first = self.nodes[1];
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is the place")]
        let place = first as u32 as usize;
        #[expect(clippy::cast_possible_truncation, reason = "the moment is what is left")]
        let at_ps = (first >> u32::BITS) as Ps;
        (at_ps, place)
    }

    /// Let it happen at this moment in this place, and at none that was set before.
    #[inline]
    pub(super) fn set(&mut self, place: usize, at_ps: Ps) {
        let mut node = self.leaves + place;
        let mut winner = key(at_ps, place);
        self.nodes[node] = winner;
        while node > 1 {
            winner = winner.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = winner;
        }
    }
}

#[inline]
const fn key(at_ps: Ps, place: usize) -> u128 {
    (at_ps as u128) << u32::BITS | place as u128
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_and_of_equals_the_lowest(
            places in 1..40_usize,
            changes in prop::collection::vec((0..40_usize, prop_oneof![0..9_u64, Just(NEVER)]), 1..200),
        ) {
            let mut events = Events::new(places);
            let mut moments = vec![NEVER; places];
            for (place, at_ps) in changes {
                let place = place % places;
                events.set(place, at_ps);
                moments[place] = at_ps;
                let earliest = moments.iter().copied().min().unwrap();
                let lowest = moments.iter().position(|moment| *moment == earliest).unwrap();
                prop_assert_eq!(events.first(), (earliest, lowest));
            }
        }
    }
}

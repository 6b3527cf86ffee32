//! Places in the order of their last uses: the stack of an LRU cache, from which a place of any depth is taken.

use std::collections::HashMap;

use crate::marks::Marks;

const FIRST_USES: usize = 1 << 12;
const UNUSED: u64 = u64::MAX;

/// All places that were used.
pub(super) struct UseStack {
    last: HashMap<u64, u32>,
    /// The place of each use that is its last one, and a mark there.
    used: Vec<u64>,
    marks: Marks,
    uses: usize,
}

impl UseStack {
    pub(super) fn new() -> Self {
        Self { last: HashMap::new(), used: vec![UNUSED; FIRST_USES], marks: Marks::new(FIRST_USES), uses: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.last.len()
    }

    pub(super) fn has(&self, place: u64) -> bool {
        self.last.contains_key(&place)
    }

    /// Use a place.
    pub(super) fn touch(&mut self, place: u64) {
        if self.uses == self.used.len() {
            self.renumber();
        }
        if let Some(last) = self.last.insert(place, self.uses as u32) {
            self.marks.add(last as usize, -1);
            self.used[last as usize] = UNUSED;
        }
        self.marks.add(self.uses, 1);
        self.used[self.uses] = place;
        self.uses += 1;
    }

    /// The place with so many others used since; the one that was not used for longest, if there are fewer.
    pub(super) fn at_distance(&self, distance: u64) -> Option<u64> {
        let depth = distance.min(self.len().checked_sub(1)? as u64) as i32;
        Some(self.used[self.marks.place_of(self.len() as i32 - depth)])
    }

    /// Drop the uses that are no last ones; make room for as many again.
    fn renumber(&mut self) {
        let places: Vec<u64> = self.used.iter().copied().filter(|place| *place != UNUSED).collect();
        let room = (2 * places.len()).next_power_of_two().max(FIRST_USES);
        self.marks = Marks::new(room);
        self.used = places;
        self.uses = self.used.len();
        for (use_, place) in self.used.iter().enumerate() {
            self.last.insert(*place, use_ as u32);
            self.marks.add(use_, 1);
        }
        self.used.resize(room, UNUSED);
    }
}

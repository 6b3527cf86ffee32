//! The write buffer: what the host wrote and what is not programmed yet. A page is let in when those that
//! had its place before are programmed.

use crate::time::Ps;

/// Eighths of a page, the finest that data reduction leaves.
const PAGE: u32 = 8;

/// A ring of places of equal size, each with the moment at which it is free again.
#[derive(Clone, Debug)]
pub struct WriteBuffer {
    free_ps: Box<[Ps]>,
    /// Eighths of a page in a place.
    place: u32,
    /// The place that is being filled, and what it still takes.
    filling: usize,
    left: u32,
    /// The first place that is not being programmed yet, and what of it and later ones is filled.
    waiting: usize,
    filled: u32,
    /// Places that a group gives back, in the course of being booked: those left, and their dealing to dies.
    releasing: u32,
    dies: u32,
    dealt: u32,
}

impl WriteBuffer {
    /// An empty buffer of so many places for so many pages each.
    #[must_use]
    pub fn new(places: u32, place_pages: u32) -> Self {
        let place = place_pages * PAGE;
        Self {
            free_ps: vec![0; places as usize].into_boxed_slice(),
            place,
            filling: 0,
            left: place,
            waiting: 0,
            filled: 0,
            releasing: 0,
            dies: 1,
            dealt: 0,
        }
    }

    /// Let a page in that arrives then and takes so many eighths of its size; gives the moment at which it
    /// is in.
    #[inline]
    pub fn admit(&mut self, arrival_ps: Ps, eighths: u32) -> Ps {
        if self.left < eighths {
            self.left += self.place;
            self.filling = self.after(self.filling);
        }
        self.left -= eighths;
        self.filled += eighths;
        arrival_ps.max(self.free_ps[self.filling])
    }

    /// What was let in so far is about to be programmed by so many dies.
    #[inline]
    pub fn begin_release(&mut self, dies: u32) {
        let places = self.filled / self.place;
        self.filled -= places * self.place;
        (self.releasing, self.dies, self.dealt) = (places, dies, 0);
    }

    /// The next of these dies will be done then.
    #[inline]
    pub fn release_at(&mut self, done_ps: Ps) {
        self.dealt += self.releasing;
        while self.dealt >= self.dies {
            self.dealt -= self.dies;
            self.free_ps[self.waiting] = done_ps;
            self.waiting = self.after(self.waiting);
        }
    }

    /// Nothing is in it any more.
    pub fn clear(&mut self) {
        self.free_ps.fill(0);
        (self.left, self.filled) = (self.place, 0);
        self.filling = self.waiting;
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        if place + 1 == self.free_ps.len() { 0 } else { place + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(buffer: &mut WriteBuffer, done_ps: &[Ps]) {
        buffer.begin_release(done_ps.len() as u32);
        done_ps.iter().for_each(|done_ps| buffer.release_at(*done_ps));
    }

    #[test]
    fn a_page_waits_for_the_one_whose_place_it_takes() {
        // Two groups of two dies with units of three pages.
        let mut buffer = WriteBuffer::new(4, 3);
        for round in 0..3_u64 {
            for group in 0..2_u64 {
                for page in 0..6_u64 {
                    let place = group * 2 + page / 3;
                    let expected = if round == 0 { 7 } else { round * 100 + place };
                    assert_eq!(buffer.admit(7, 8), expected, "round {round}, group {group}, page {page}");
                }
                let first = (round + 1) * 100 + group * 2;
                release(&mut buffer, &[first, first + 1]);
            }
        }
    }

    #[test]
    fn units_larger_than_a_place_give_several_back() {
        let mut buffer = WriteBuffer::new(8, 1);
        (0..8).for_each(|_| assert_eq!(buffer.admit(0, 8), 0));
        release(&mut buffer, &[50, 60]);
        let admitted: Vec<_> = (0..8).map(|_| buffer.admit(0, 8)).collect();
        assert_eq!(admitted, [50, 50, 50, 50, 60, 60, 60, 60]);
    }

    #[test]
    fn a_group_closed_early_gives_back_what_it_held() {
        let mut buffer = WriteBuffer::new(4, 2);
        (0..3).for_each(|_| assert_eq!(buffer.admit(0, 8), 0));
        release(&mut buffer, &[50, 60]);
        // One full place of the two that were begun; the other goes with the next group.
        (0..5).for_each(|_| assert_eq!(buffer.admit(0, 8), 0));
        release(&mut buffer, &[70, 80, 90]);
        let admitted: Vec<_> = (0..8).map(|_| buffer.admit(0, 8)).collect();
        assert_eq!(admitted, [60, 60, 70, 70, 80, 80, 90, 90]);
    }

    #[test]
    fn reduced_pages_take_less_room() {
        let mut buffer = WriteBuffer::new(2, 1);
        (0..8).for_each(|_| assert_eq!(buffer.admit(0, 2), 0));
        release(&mut buffer, &[50]);
        assert_eq!(buffer.admit(0, 2), 50);
    }
}

//! Marks on numbered places, counted in logarithmic time (a Fenwick tree).

/// How many marks are on each place of a fixed number of them.
pub struct Marks(Vec<i32>);

impl Marks {
    /// None on so many places, a power of 2.
    pub fn new(places: usize) -> Self {
        debug_assert!(places.is_power_of_two());
        Self(vec![0; places + 1])
    }

    /// Add marks to a place.
    pub fn add(&mut self, place: usize, value: i32) {
        let mut index = place + 1;
        while index < self.0.len() {
            self.0[index] += value;
            index += index & index.wrapping_neg();
        }
    }

    /// On all places up to this one.
    pub fn sum(&self, place: usize) -> i32 {
        let mut index = place + 1;
        let mut sum = 0;
        while index > 0 {
            sum += self.0[index];
            index &= index - 1;
        }
        sum
    }

    /// The place of a mark, counted from 1 at the first place.
    pub fn place_of(&self, mark: i32) -> usize {
        let mut index = 0;
        let mut left = mark;
        let mut step = self.0.len() - 1;
        while step > 0 {
            if index + step < self.0.len() && self.0[index + step] < left {
                index += step;
                left -= self.0[index];
            }
            step /= 2;
        }
        index
    }
}

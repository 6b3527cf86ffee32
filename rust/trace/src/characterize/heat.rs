//! Where and when: a map of places over time, whatever the size of either.

use serde_json::{Value, json};

use crate::steps::Kind;

const CELLS: usize = 512;

/// Both axes begin fine, and fold when they are too short.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    time_log2: u32,
    place_log2: u32,
    /// Reads, writes and trims, by row of places and column of time.
    counts: [Vec<u32>; 3],
    /// Cells that were used of either axis.
    used: (usize, usize),
}

impl Default for Heat {
    fn default() -> Self {
        let counts = std::array::from_fn(|_| vec![0; CELLS * CELLS]);
        Self { time_log2: 10, place_log2: 12, counts, used: (0, 0) }
    }
}

impl Heat {
    pub(super) fn push(&mut self, kind: Kind, since_ns: u64, offset_bytes: u64) {
        let map = match kind {
            Kind::Read => 0,
            Kind::Write => 1,
            Kind::Trim | Kind::Zeroes => 2,
            Kind::Flush | Kind::Other => return,
        };
        while since_ns >> self.time_log2 >= CELLS as u64 {
            self.time_log2 += 1;
            self.fold(|row, column| (row, column / 2));
            self.used.1 = self.used.1.div_ceil(2);
        }
        while offset_bytes >> self.place_log2 >= CELLS as u64 {
            self.place_log2 += 1;
            self.fold(|row, column| (row / 2, column));
            self.used.0 = self.used.0.div_ceil(2);
        }
        let row = (offset_bytes >> self.place_log2) as usize;
        let column = (since_ns >> self.time_log2) as usize;
        self.used = (self.used.0.max(row + 1), self.used.1.max(column + 1));
        let cell = &mut self.counts[map][row * CELLS + column];
        *cell = cell.saturating_add(1);
    }

    fn fold(&mut self, to: impl Fn(usize, usize) -> (usize, usize)) {
        for counts in &mut self.counts {
            let mut folded = vec![0u32; CELLS * CELLS];
            for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let (row, column) = to(place / CELLS, place % CELLS);
                let cell = &mut folded[row * CELLS + column];
                *cell = cell.saturating_add(*count);
            }
            *counts = folded;
        }
    }

    /// Cells that have any: row, column, count.
    pub(super) fn to_json(&self) -> Value {
        let cells = |counts: &[u32]| -> Vec<(usize, usize, u32)> {
            let used = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            used.map(|(place, count)| (place / CELLS, place % CELLS, *count)).collect()
        };
        json!({
            "column_ns": 1u64 << self.time_log2, "row_bytes": 1u64 << self.place_log2,
            "rows": self.used.0, "columns": self.used.1,
            "read": cells(&self.counts[0]), "write": cells(&self.counts[1]), "trim": cells(&self.counts[2]),
        })
    }
}

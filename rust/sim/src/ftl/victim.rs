//! What is collected, and how much of it at a time.

use super::nand::Cells;

/// A superblock on its way to be free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim {
    pub(super) superblock: u32,
    pub(super) cells: Cells,
    /// What lies before has been moved.
    pub(super) cursor: u32,
    /// The first slot behind it.
    pub(super) end: u32,
    /// Empty slots that were counted for it so far.
    pub(super) counted: u32,
}

/// How far to go with a victim.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dose {
    /// Until so many slots are empty.
    pub(super) empty: i64,
    /// Or so many granules have been moved.
    pub(super) moves: u32,
}

impl Dose {
    /// The whole victim.
    pub(super) const WHOLE: Self = Self { empty: i64::MAX, moves: u32::MAX };
}

//! What the map tells the flash: work to be done, without a word about how long it takes.

use std::ops::Range;

/// How a superblock's cells are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// All their bits.
    Native,
    /// A single bit each.
    Slc,
}

/// A group of program units is full: each of its dies programs one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where.
    pub superblock: u32,
    /// The dies that program.
    pub dies: Range<u32>,
    /// How.
    pub cells: Cells,
    /// Whether any of it is the host's, however small.
    pub has_host: bool,
    /// Pages of 4 KiB in it that the host wrote; with data reduction rounded down.
    pub host_pages: u32,
    /// Pages in it that collection or folding moved; with data reduction rounded down.
    pub moved_pages: u32,
    /// Pages that were filled up with nothing.
    pub padded_pages: u32,
}

/// Takes the work. Calls come in the order in which the work would begin.
pub trait Nand {
    /// Whether [`Nand::read_row`] wants to be called: what ignores reads saves the search for them.
    const READS: bool = true;

    /// A group is full.
    fn program(&mut self, program: &Program);

    /// Some of up to 64 neighboring dies read a chunk each, with an array read of its own, for collection or
    /// folding: those from `first_die` on whose bits are set.
    fn read_row(&mut self, first_die: u32, dies: u64, cells: Cells);

    /// All dies erase their part of a superblock.
    fn erase(&mut self, superblock: u32);

    /// A superblock is full, from now on only read.
    fn closed(&mut self, superblock: u32) {
        let _ = superblock;
    }
}

/// Flash that takes no time and remembers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeless;

impl Nand for Timeless {
    const READS: bool = false;

    #[inline]
    fn program(&mut self, _: &Program) {}

    #[inline]
    fn read_row(&mut self, _: u32, _: u64, _: Cells) {}

    #[inline]
    fn erase(&mut self, _: u32) {}
}

//! I/Os that the host has announced: their entries of the map are fetched at once, and what these point to a
//! little later, when they are there.

use std::cell::Cell;

use crate::ftl::Ftl;

/// How many announcements later.
const LATER: usize = 8;

/// The pages of the latest writes. Nothing but the speed of the simulator depends on them.
#[derive(Debug, Default)]
pub(super) struct Prefetch {
    pages: [Cell<u32>; LATER],
    next: Cell<usize>,
}

impl Prefetch {
    /// A page will be written soon.
    #[inline]
    pub(super) fn write(&self, page: u32, ftl: &Ftl) {
        ftl.prefetch(page);
        let next = self.next.get();
        ftl.prefetch_place(self.pages[next].replace(page));
        self.next.set((next + 1) % LATER);
    }
}

//! Reclaim units: superblocks that the pages of one placement handle fill (NVMe flexible data placement).
//!
//! Handle 0 is the frontier of a drive that knows no handles; the others have a host frontier each behind
//! those, and if moved pages are to stay apart as well, one of moved pages each behind these.

use super::frontier::Frontier;
use super::nand::{Cells, Nand};
use super::space::frontiers_beside;
use super::{Ftl, MOVED, NATIVE, ReadOnly};
use crate::drive::PAGE_BYTES;
use crate::placement::{HandleStatus, UnitEvent, UnitEvents};
use crate::preset::PageMapped;

/// The first frontier of a handle of its own.
const FIRST: usize = 3;

pub(super) fn frontiers(model: &PageMapped) -> Vec<Frontier> {
    let beside = frontiers_beside(model) as usize;
    let cells = [Cells::Native, Cells::Native, Cells::Slc];
    cells.into_iter().chain(std::iter::repeat_n(Cells::Native, beside)).map(Frontier::closed).collect()
}

/// Where the host's pages of a handle go.
pub(super) fn frontier_of(handle: u16) -> usize {
    if handle == 0 { NATIVE } else { FIRST + usize::from(handle) - 1 }
}

/// Where the moved pages of a handle go, if they stay apart.
pub(super) fn moved_frontier_of(handle: u16, handles: u16) -> usize {
    if handle == 0 { MOVED } else { FIRST + usize::from(handles) - 1 + usize::from(handle) - 1 }
}

/// Whose each superblock is, and what happened to them.
#[derive(Clone, Debug)]
pub(super) struct ReclaimUnits {
    owners: Vec<u16>,
    events: UnitEvents,
}

impl ReclaimUnits {
    pub(super) fn new(superblocks: u32) -> Self {
        Self { owners: vec![0; superblocks as usize], events: UnitEvents::default() }
    }

    pub(super) fn owned(&mut self, superblock: u32, handle: u16) {
        self.owners[superblock as usize] = handle;
    }

    pub(super) fn owner(&self, superblock: u32) -> u16 {
        self.owners[superblock as usize]
    }
}

impl Ftl {
    pub(super) fn owner_of(&self, which: usize) -> u16 {
        let others = usize::from(self.handles) - 1;
        match which.checked_sub(FIRST) {
            Some(place) if place < others => place as u16 + 1,
            Some(place) => (place - others) as u16 + 1,
            None => 0,
        }
    }

    /// The host's next pages belong to a handle; without frontiers for handles nothing changes.
    ///
    /// # Errors
    /// If the drive has worn out.
    #[inline]
    pub fn use_handle(&mut self, handle: u16) -> Result<(), ReadOnly> {
        if self.handles > 1 {
            self.host = frontier_of(handle);
            self.read_only |= !self.open(self.host);
        }
        if self.read_only { Err(ReadOnly) } else { Ok(()) }
    }

    /// A superblock is full: the handle of a host frontier goes on in another one.
    pub(super) fn reclaim_unit_full(&mut self, which: usize, superblock: u32) {
        if self.handles > 1 && which == self.host {
            let handle = self.owner_of(which);
            self.reclaim.events.add(UnitEvent::Full { handle, superblock });
        }
    }

    /// A handle goes on in another superblock, at the host's wish: what is left of its own stays empty until
    /// that is collected. Does nothing if nothing is written to it.
    ///
    /// # Errors
    /// If the drive has worn out.
    pub fn update_handle(&mut self, handle: u16, nand: &mut impl Nand) -> Result<(), ReadOnly> {
        self.use_handle(handle)?;
        self.close_host_group(nand);
        let frontier = self.frontiers[self.host];
        if self.handles > 1 && frontier.is_open() && frontier.room() < self.layout.native.slots {
            self.frontiers[self.host] = Frontier::closed(Cells::Native);
            self.space.empty -= i64::from(frontier.room());
            self.close(frontier.superblock, nand);
            self.reclaim.events.add(UnitEvent::Updated {
                handle,
                superblock: frontier.superblock,
                unwritten_bytes: self.bytes_of(frontier.room()),
            });
            self.collect(nand);
            self.choose_host_frontier(nand);
        }
        if self.read_only { Err(ReadOnly) } else { Ok(()) }
    }

    fn bytes_of(&self, slots: u32) -> u64 {
        u64::from(slots >> self.layout.granule_shift) * PAGE_BYTES
    }

    /// What is left in each handle's superblock.
    #[must_use]
    pub fn handle_status(&self) -> Vec<HandleStatus> {
        let status = |handle| {
            let frontier = &self.frontiers[frontier_of(handle)];
            let left = if frontier.is_open() { frontier.room() } else { self.layout.native.slots };
            HandleStatus { handle, left_bytes: self.bytes_of(left) }
        };
        (0..self.handles).map(status).collect()
    }

    /// What happened to reclaim units, the latest of it.
    #[must_use]
    pub const fn unit_events(&self) -> &UnitEvents {
        &self.reclaim.events
    }
}

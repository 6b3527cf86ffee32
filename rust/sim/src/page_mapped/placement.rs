//! Placement handles: which there are, and what became of their pages.

use super::{At, PageMappedDrive};
use crate::drive::{PAGE_BYTES, Refusal};
use crate::ftl::ReadOnly;
use crate::placement::Placed;
use crate::preset::Isolation;
use crate::time::Ps;

impl PageMappedDrive {
    /// Whether there is such a handle.
    #[inline]
    pub(super) fn takes(&self, handle: Option<u16>) -> bool {
        handle.is_none_or(|handle| self.placement.is_some_and(|placement| handle < placement.handles))
    }

    /// Pages of the host go where its handle has them.
    #[inline]
    pub(super) fn follow(&mut self, handle: Option<u16>) -> Result<(), ReadOnly> {
        self.ftl.use_handle(handle.unwrap_or(0))
    }

    pub(super) fn update_reclaim_unit(&mut self, handle: u16, now_ps: Ps) -> Result<(), Refusal> {
        if !self.takes(Some(handle)) {
            return Err(Refusal(format!("the drive has no placement handle {handle}")));
        }
        let updated = self.ftl.update_handle(handle, &mut At(&mut self.back_end, now_ps));
        updated.map_err(|error| Refusal(error.to_string()))
    }

    pub(super) fn placed_so_far(&self) -> Option<Placed> {
        let placement = self.placement?;
        let unit_bytes = u64::from(self.ftl.layout().superblock_pages) * PAGE_BYTES;
        Some(Placed {
            handles: placement.handles,
            persistently: placement.isolation == Isolation::Persistently,
            unit_bytes,
            status: self.ftl.handle_status(),
            events: self.ftl.unit_events().clone(),
            host_bytes: self.host.write_bytes,
            media_bytes: self.ftl.counters().total() * PAGE_BYTES,
            erased_bytes: self.ftl.erases() * unit_bytes,
        })
    }
}

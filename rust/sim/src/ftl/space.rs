//! How much space is empty, and how much must be.

use super::layout::Layout;
use crate::preset::{Frontiers, Isolation, PageMapped, PresetError};

/// Placement handles that have a frontier of their own.
pub(super) fn handles(model: &PageMapped) -> u16 {
    model.placement.filter(|placement| !placement.ignored).map_or(1, |placement| placement.handles)
}

pub(super) fn isolates_moved(model: &PageMapped) -> bool {
    handles(model) > 1
        && model.placement.is_some_and(|placement| placement.isolation == Isolation::Persistently)
}

/// Frontiers beside the three that every drive has.
pub(super) fn frontiers_beside(model: &PageMapped) -> u32 {
    let others = u32::from(handles(model) - 1);
    if isolates_moved(model) { 2 * others } else { others }
}

/// Empty slots: of free superblocks, left in open ones in native cells, and in victims up to where they
/// have been collected. A superblock in single-bit cells has none until it is folded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    /// Now; at full groups of the host exact.
    pub(super) empty: i64,
    /// Collect below.
    pub(super) low: i64,
    /// Never fewer, so that each frontier finds a superblock when it needs one.
    reserve: i64,
    superblock_slots: u32,
    /// With fewer the drive can't hold its user space.
    pub(super) needed_superblocks: u32,
}

impl Space {
    /// Of a new drive.
    ///
    /// # Errors
    /// If there are fewer superblocks than needed.
    pub(super) fn new(model: &PageMapped, layout: &Layout) -> Result<Self, PresetError> {
        let superblock_slots = layout.native.slots;
        let group_slots = i64::from(layout.native.group_slots);
        let of = |superblocks: u32| i64::from(superblocks) * i64::from(superblock_slots);
        // When the host's frontier is full, the free superblocks are the empty slots less those that the other
        // open ones have left and those behind the cursors of victims: less than a superblock for each.
        // A frontier more is one open superblock more.
        let slc = u32::from(model.slc.is_some()) + frontiers_beside(model);
        let reserve = match model.collection.frontiers {
            Frontiers::Separate => of(2 + slc),
            Frontiers::Mixed => of(1 + slc) + group_slots,
        };
        // A superblock that retires takes its slots with it.
        let retired = if model.wear.is_some() { of(1) } else { 0 };
        let low = of(model.collection.free_low).max(reserve + retired);
        // Besides the user space and what is empty, open superblocks may be full of what is not wanted any
        // longer, and can't be collected; what is closed must have something to win even then.
        let open = of(2 + slc);
        let user = i64::from(layout.user_pages) << layout.granule_shift;
        let needed_superblocks = (user + low + open) as u64;
        let needed_superblocks = needed_superblocks.div_ceil(u64::from(superblock_slots)) as u32;
        if needed_superblocks > layout.superblocks {
            return Err(PresetError(format!(
                "the drive needs {needed_superblocks} superblocks to collect, and has {}: raise \
                 mapping.physical_per_user or geometry.superblocks",
                layout.superblocks
            )));
        }
        Ok(Self { empty: of(layout.superblocks), low, reserve, superblock_slots, needed_superblocks })
    }

    pub(super) const fn of_superblocks(&self, superblocks: u32) -> i64 {
        superblocks as i64 * self.superblock_slots as i64
    }

    /// Whether a superblock may be used for other things without anything being collected for it.
    pub(super) const fn has_superblock_over(&self) -> bool {
        self.empty >= self.low + self.superblock_slots as i64
    }

    /// Whether what is left is enough without the superblock that was just erased.
    pub(super) const fn may_retire(&self) -> bool {
        self.empty - self.superblock_slots as i64 >= self.reserve
    }

    /// The average of the empty slots over the host's writes. They are looked at when a group is full. Paced,
    /// collection goes on until they are `low`, in steps of a word of the bitmap; a group takes them below.
    /// In bursts, a victim wins the share of it that is not valid.
    pub(super) fn mean_empty(&self, layout: &Layout, burst: bool, valid_share: f64) -> f64 {
        let won =
            if burst { f64::from(self.superblock_slots) } else { 64.0_f64.min(f64::from(layout.stride)) };
        self.low as f64 - f64::from(layout.native.group_slots) / 2.0 + won * (1.0 - valid_share) / 2.0
    }
}

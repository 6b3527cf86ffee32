//! What a drive tells of the placement of data (NVMe flexible data placement), in its own quantities.

use std::collections::VecDeque;

use super::scale::Scale;

/// Events that are kept.
const MOST_EVENTS: usize = 64;

/// Something that happened to a reclaim unit, which is a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitEvent {
    /// Its handle filled it, and goes on in another one.
    Full {
        /// Whose.
        handle: u16,
        /// Which.
        superblock: u32,
    },
    /// The host had its handle go on in another one before it was full.
    Updated {
        /// Whose.
        handle: u16,
        /// Which.
        superblock: u32,
        /// Bytes of it that were not written.
        unwritten_bytes: u64,
    },
}

/// What happened, the latest of it, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitEvents {
    latest: VecDeque<UnitEvent>,
    /// Reclaim units that handles filled.
    pub filled: u64,
    /// Reclaim units that handles left before they were full.
    pub updated: u64,
}

impl UnitEvents {
    pub(crate) fn add(&mut self, event: UnitEvent) {
        match event {
            UnitEvent::Full { .. } => self.filled += 1,
            UnitEvent::Updated { .. } => self.updated += 1,
        }
        if self.latest.len() == MOST_EVENTS {
            self.latest.pop_front();
        }
        self.latest.push_back(event);
    }

    /// How many there were, those that are not kept included.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.filled + self.updated
    }

    fn scale(&mut self, factor: u64) {
        for event in &mut self.latest {
            if let UnitEvent::Updated { unwritten_bytes, .. } = event {
                *unwritten_bytes *= factor;
            }
        }
    }

    /// The latest, in their order.
    pub fn latest(&self) -> impl DoubleEndedIterator<Item = &UnitEvent> {
        self.latest.iter()
    }
}

/// Where a handle writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleStatus {
    /// Which.
    pub handle: u16,
    /// Bytes that can still be written to its reclaim unit.
    pub left_bytes: u64,
}

/// What a drive with placement says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Handles that it takes, whether or not it follows them.
    pub handles: u16,
    /// Whether moved pages stay among those of their handle.
    pub persistently: bool,
    /// Bytes of a reclaim unit.
    pub unit_bytes: u64,
    /// Of each handle that it follows.
    pub status: Vec<HandleStatus>,
    /// Of its reclaim units.
    pub events: UnitEvents,
    /// Bytes that the host wrote.
    pub host_bytes: u64,
    /// Bytes that were programmed, whatever for.
    pub media_bytes: u64,
    /// Bytes that were erased.
    pub erased_bytes: u64,
}

impl Placed {
    /// As the drive that this one stands for tells it. Superblocks are as many, and larger.
    #[must_use]
    pub fn scaled(mut self, scale: Scale) -> Self {
        let factor = u64::from(scale.factor());
        self.status.iter_mut().for_each(|status| status.left_bytes *= factor);
        self.events.scale(factor);
        Self {
            unit_bytes: self.unit_bytes * factor,
            host_bytes: self.host_bytes * factor,
            media_bytes: self.media_bytes * factor,
            erased_bytes: self.erased_bytes * factor,
            ..self
        }
    }
}

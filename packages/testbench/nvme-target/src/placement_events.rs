//! Events of placement that the target keeps itself.

use std::collections::VecDeque;

/// Events of a log, and of those that are kept.
pub(super) const MOST_EVENTS: usize = 63;

/// Events that the drive's model does not know of, and which types are left out.
#[derive(Debug, Default)]
pub(super) struct HostEvents {
    /// Namespaces and identifiers of writes that named no handle there is.
    pub(super) invalid: VecDeque<(u32, u16)>,
    /// Bits by position in the list of types.
    pub(super) disabled: u8,
}

impl HostEvents {
    /// A write to a namespace named a handle that is not there.
    pub(super) fn keep(&mut self, namespace: u32, identifier: u16) {
        if self.invalid.len() == MOST_EVENTS {
            self.invalid.pop_front();
        }
        self.invalid.push_back((namespace, identifier));
    }
}

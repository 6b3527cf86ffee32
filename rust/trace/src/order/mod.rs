//! The I/Os of a trace in the order of their times.

mod checks;
mod external;
mod plausible;
mod record;
mod spread;
mod window;

use serde::Deserialize;

pub(super) use checks::check;
pub(super) use external::External;
pub(super) use plausible::Plausible;
pub(super) use spread::Spreader;
pub(super) use window::{Late, Window};

/// I/Os that may wait for their turn at most.
pub const WINDOW_IOS: usize = 1 << 20;
/// How much earlier than those before it an I/O may be.
pub const WINDOW_NS: i64 = 1_000_000_000;

/// How far I/Os may be from their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reorder {
    /// So many ns; a trace with more is refused.
    Within(i64),
    /// Any: the trace is sorted on disk.
    Any,
}

impl Default for Reorder {
    fn default() -> Self {
        Self::Within(WINDOW_NS)
    }
}

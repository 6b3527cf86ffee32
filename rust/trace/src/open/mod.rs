//! From paths to a reader: through archives and compressions, and by contents to a format.

mod detect;
mod files;
mod fingerprint;
mod layers;
mod not_traces;
mod tar_members;

pub(super) use detect::reader_of;
pub(super) use files::{Sources, sources_of};
pub(super) use fingerprint::Fingerprint;
pub use not_traces::NOT_TRACES;

use super::source::Source;

/// Stands for standard input.
const STDIN: &str = "-";

/// A source of which the beginning was looked at.
pub(super) struct Opened {
    pub(super) source: Source,
    /// Its first bytes; `None` for a later member of an archive, which is opened when its turn comes.
    pub(super) head: Option<Vec<u8>>,
}

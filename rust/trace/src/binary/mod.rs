//! Binary formats of fixed records.

mod btrecord;
mod filling;
mod vscsi;

use super::formats::Format;

/// The formats of this folder.
pub(super) static FORMATS: &[Format] = &[btrecord::FORMAT, vscsi::FORMAT];

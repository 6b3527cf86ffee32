//! All formats that can be read.

use super::formats::Format;
use super::text;

/// All of them, those with a reader of their own before those that are read by a column map.
#[rustfmt::skip]
pub static FORMATS: &[&[Format]] = &[
    super::canonical::FORMATS,
    super::blktrace::FORMATS,
    super::recipe::FORMATS,
    text::FORMATS,
    text::COLUMN_FORMATS,
];

//! What the kernel's blktrace writes: binary records of versions 7 and 8, one file for each processor or one merged
//! file, of either byte order.

mod actions;
mod files;
mod interpreter;
mod reader;
mod record;
mod stream;

use super::formats::Format;
use record::RecordLayout;

pub(crate) use interpreter::Interpreter;
pub(crate) use stream::RecordStream;

/// As it is listed.
pub static FORMATS: &[Format] = &[Format {
    name: "blktrace",
    label: "blktrace, binary",
    nearness: |_| None,
    is_at_head: |head| RecordLayout::at(head).is_some(),
    open: reader::open,
}];

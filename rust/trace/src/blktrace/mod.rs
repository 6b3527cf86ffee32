//! What the kernel's blktrace writes: binary records of versions 7 and 8, one file for each processor or one merged
//! file, of either byte order.

mod actions;
mod files;
mod interpreter;
mod reader;
mod record;

use super::formats::Format;

pub(crate) use files::Record;
pub(crate) use interpreter::Interpreter;
pub(crate) use record::RecordLayout;

/// As it is listed.
pub static FORMATS: &[Format] = &[Format {
    name: "blktrace",
    label: "blktrace, binary",
    is_at_head: |head| RecordLayout::at(head).is_some(),
    open: reader::open,
}];

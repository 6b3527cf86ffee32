//! Rows turned back to I/Os.

use super::super::traced_io::{Flags, Quality, Status, TracedIo, TracedOperation};
use super::issuer::unpack;
use super::reading::Group;
use super::schema::{Column, NO_COMPLETION};

/// The I/O of a row, if all of its values are in range.
pub(super) fn io_of(group: &Group, row: usize) -> Option<TracedIo> {
    let number = |column: Column| group.number(column as usize, row);
    let half = |column: Column| u16::try_from(number(column)).ok();
    let optional = |column: Column| group.optional(column as usize, row);
    let mut io = TracedIo::new(
        number(Column::Issued),
        operation_of(group.word(Column::Operation as usize, row))?,
        u64::try_from(number(Column::Offset)).ok()?,
        u64::try_from(number(Column::Length)).ok()?,
        number(Column::Source).cast_unsigned(),
    );
    if let Some(latency_ns) = optional(Column::Latency) {
        io.completed_ns = Some(io.issued_ns.checked_add(latency_ns)?);
    }
    io.flags = Flags(half(Column::Flags)?);
    io.device = half(Column::Device)?;
    io.domain = half(Column::Domain)?;
    if let Some(issuer) = optional(Column::Issuer) {
        unpack(issuer, &mut io);
    }
    io.status = match number(Column::Status) {
        0 => Status::Done,
        NO_COMPLETION => Status::NoCompletionSeen,
        errno => Status::Failed(u16::try_from(errno.checked_neg()?).ok()?),
    };
    io.quality = Quality(u8::try_from(number(Column::Quality)).ok()?);
    Some(io)
}

pub(super) fn operation_of(word: &[u8]) -> Option<TracedOperation> {
    TracedOperation::ALL.into_iter().find(|operation| operation.name().as_bytes() == word)
}

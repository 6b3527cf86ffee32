//! Who issued an I/O as one number, since a process seldom changes its processor: the process in the lower 32 bits, the
//! processor in the 16 above, and the number of the command in the highest.

use super::super::traced_io::{NO_PROCESS, NO_PROCESSOR, TracedIo};

/// Nothing, if nothing is known.
pub(super) fn packed(io: &TracedIo) -> Option<i64> {
    let is_known = io.pid != NO_PROCESS || io.cpu != NO_PROCESSOR || io.command != 0;
    let (pid, cpu) = (u64::from(io.pid.cast_unsigned()), u64::from(io.cpu.cast_unsigned()));
    is_known.then_some((u64::from(io.command) << 48 | cpu << 32 | pid).cast_signed())
}

/// Put the issuer back into its I/O.
pub(super) fn unpack(issuer: i64, io: &mut TracedIo) {
    let issuer = issuer.cast_unsigned();
    io.pid = (issuer as u32).cast_signed();
    io.cpu = ((issuer >> 32) as u16).cast_signed();
    io.command = (issuer >> 48) as u16;
}

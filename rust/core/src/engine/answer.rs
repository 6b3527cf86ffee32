//! What a completion says about an I/O.

use std::io;

use rustix::io::Errno;

use super::slots::Outstanding;
use crate::capture::CapturedIo;
use crate::machine::Completion;
use crate::workload::{Io, Operation};

/// Why a completion is no success. A short transfer is a failure: a drive that was removed answers
/// reads with 0 bytes and no error.
#[inline]
pub(super) fn failure_of(completion: Completion, io: &Io) -> Option<String> {
    let transfers = matches!(io.operation, Operation::Read | Operation::Write);
    let is_whole = if transfers {
        u32::try_from(completion.result) == Ok(io.length_bytes)
    } else {
        completion.result >= 0
    };
    if is_whole { None } else { Some(failure(completion, io)) }
}

#[cold]
fn failure(completion: Completion, io: &Io) -> String {
    if completion.result >= 0 {
        format!("short transfer: {} of {} B", completion.result, io.length_bytes)
    } else if completion.status > 0 {
        format!("NVMe status {:#x}", completion.status)
    } else {
        reason_of(-completion.result)
    }
}

/// What an error number means that the block layer gives, in the words of the kernel's log: the C library has
/// others for these, of networks and files.
fn reason_of(errno: i32) -> String {
    let error = io::Error::from_raw_os_error(errno);
    let meaning = match Errno::from_raw_os_error(errno) {
        Errno::NODATA => "critical medium error",
        Errno::REMOTEIO => "critical target error",
        Errno::NOLINK => "transport error",
        Errno::TIMEDOUT => "timeout error",
        Errno::BADE => "reservation conflict",
        Errno::ILSEQ => "protection error",
        Errno::NODEV => "device offline",
        _ => return error.to_string(),
    };
    format!("{meaning} (os error {errno})")
}

/// The I/O as the capture keeps it; a transfer that was too short is an I/O error.
#[inline]
pub(super) fn captured(
    answered: &Outstanding,
    latency_ns: u64,
    completion: Completion,
    failed: bool,
) -> CapturedIo {
    let Outstanding { submitted_ns, io } = *answered;
    CapturedIo {
        submitted_ns,
        latency_ns,
        offset_bytes: io.offset_bytes,
        length_bytes: io.length_bytes,
        operation: io.operation,
        result: match completion.result {
            errno if errno < 0 => -errno,
            _ if failed => Errno::IO.raw_os_error(),
            _ => 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(operation: Operation, result: i32, status: u16) -> Option<String> {
        let io = Io::new(operation, 0, 4096);
        failure_of(Completion { slot: 0, result, status }, &io)
    }

    #[test]
    fn only_a_whole_transfer_is_a_success() {
        assert_eq!(reason(Operation::Read, 4096, 0), None);
        assert_eq!(reason(Operation::Read, 0, 0).unwrap(), "short transfer: 0 of 4096 B");
        assert_eq!(reason(Operation::Write, 4095, 0).unwrap(), "short transfer: 4095 of 4096 B");
        assert_eq!(reason(Operation::Flush, 0, 0), None);
        assert_eq!(reason(Operation::Trim, 0, 0), None);
    }

    #[test]
    fn an_error_is_named_as_the_system_or_the_drive_names_it() {
        assert!(reason(Operation::Write, -28, 0).unwrap().contains("No space left"));
        assert!(reason(Operation::Trim, -5, 0).unwrap().contains("Input/output error"));
        assert_eq!(reason(Operation::Read, -5, 0x281).unwrap(), "NVMe status 0x281");
        assert_eq!(reason(Operation::Read, -61, 0).unwrap(), "critical medium error (os error 61)");
    }
}

//! Device Self-test: it runs beside I/O in wall-clock time.

use std::time::Instant;

use super::bytes::Page;
use super::command::{Answered, Command, Done, Status};
use super::media::ALL;
use super::self_test_log::{EXTENDED, Ending, SHORT};
use super::subsystem::Subsystem;

const ABORT: u8 = 0xF;

/// The Device Self-test command: it is answered at once, and the drive tests on.
pub(super) fn self_test(subsystem: &Subsystem, command: &Command) -> Answered {
    let namespace = command.namespace();
    {
        let media = subsystem.media();
        media.admit()?;
        if !matches!(namespace, 0 | ALL) {
            media.allocated(namespace)?;
        }
    }
    let code = (command.dword(10) & 0xF) as u8;
    match code {
        SHORT | EXTENDED => {
            subsystem.self_tests().begin(code, namespace, Instant::now())?;
        }
        ABORT => subsystem.abort_self_test(Ending::AbortedByCommand),
        _ => return Err(Status::INVALID_FIELD),
    }
    Ok(Done::default())
}

/// The Device Self-test log.
pub(super) fn log(subsystem: &Subsystem) -> Page {
    subsystem.self_tests().page(Instant::now())
}

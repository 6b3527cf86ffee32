//! Security Send and Security Receive.

use super::command::{Answered, Command, Done, Status};
use super::lock::lock;
use super::security::{COM_ID, HEADERS_BYTES, LEVEL0, Locking, MOST_BYTES, PAYLOAD_LENGTH_AT, TCG};
use super::subsystem::Subsystem;

/// Protocol specific field and length of a command that the drive has.
fn asked(locking: &Locking, command: &Command) -> Result<(u16, usize), Status> {
    if !locking.is_there() {
        return Err(Status::INVALID_OPCODE);
    }
    let (word, length) = (command.dword(10), command.dword(11));
    if word >> 24 != TCG || length > MOST_BYTES {
        return Err(Status::INVALID_FIELD);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the field has 16 bits")]
    Ok(((word >> 8) as u16, length as usize))
}

/// Security Receive.
pub(super) fn receive(subsystem: &Subsystem, command: &Command) -> Answered {
    let mut locking = lock(&subsystem.locking);
    let (specific, length) = asked(&locking, command)?;
    let mut answer = match specific {
        LEVEL0 => locking.discovery(),
        COM_ID if locking.answer.is_empty() => vec![0; HEADERS_BYTES],
        COM_ID => std::mem::take(&mut locking.answer),
        _ => return Err(Status::INVALID_FIELD),
    };
    // As much as the host asks for: what lies behind the end is zeros.
    answer.resize(length, 0);
    Ok(Done::data(answer))
}

/// Security Send.
pub(super) fn send(subsystem: &Subsystem, command: &Command, data: &[u8]) -> Answered {
    let mut locking = lock(&subsystem.locking);
    let (specific, _) = asked(&locking, command)?;
    let payload = data.get(HEADERS_BYTES..).filter(|_| specific == COM_ID).ok_or(Status::INVALID_FIELD)?;
    let stated =
        data[PAYLOAD_LENGTH_AT..HEADERS_BYTES].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let payload = payload.get(..stated).ok_or(Status::INVALID_FIELD)?;
    if locking.hear(payload, subsystem.psid().as_bytes()) {
        drop(locking);
        // The keys are new: what was written is lost.
        let whole = subsystem.drive.capacity_bytes();
        subsystem.store.discard(0, whole).map_err(|_| Status::INTERNAL_ERROR)?;
        subsystem.drive.purge().map_err(|_| Status::INTERNAL_ERROR)?;
    }
    Ok(Done::default())
}

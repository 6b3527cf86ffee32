//! Format NVM: one namespace, or all of them.

use std::time::Instant;

use super::command::{Command, Status};
use super::media::{ALL, Gate, LBA_SHIFTS, Namespace};
use super::sanitize;
use super::self_test_log::Ending;
use super::subsystem::Subsystem;

/// Erase, and set the LBA format; the moment at which that is done.
pub(super) fn format(subsystem: &Subsystem, command: &Command) -> Result<Instant, Status> {
    if sanitize::capabilities(subsystem) == 0 {
        return Err(Status::INVALID_OPCODE);
    }
    let word = command.dword(10);
    let lba_format = (word & 15) as usize;
    // Metadata and protection information: there are none.
    if lba_format >= LBA_SHIFTS.len() || word >> 5 & 7 != 0 {
        return Err(Status::INVALID_FORMAT);
    }
    if word >> 9 & 7 > 2 {
        return Err(Status::INVALID_FIELD);
    }
    let mut media = subsystem.media_mut();
    media.admit()?;
    subsystem.abort_self_test(Ending::AbortedByFormat);
    let chosen: Vec<Namespace> = match command.namespace() {
        ALL => media.namespaces.clone(),
        id => vec![*media.allocated(id)?],
    };
    if subsystem.format_fails() {
        return Err(Status::INTERNAL_ERROR);
    }
    let is_whole = chosen.len() == media.namespaces.len();
    let until = if is_whole {
        subsystem.drive.purge().map_err(|_| Status::INTERNAL_ERROR)?
    } else {
        chosen
            .iter()
            .map(|each| subsystem.drive.trim(each.first_byte, each.bytes))
            .fold(Instant::now(), Ord::max)
    };
    for namespace in &chosen {
        if !subsystem.purge_lies() {
            let erased = subsystem.store.discard(namespace.first_byte, namespace.bytes);
            erased.map_err(|_| Status::INTERNAL_ERROR)?;
        }
        media.set_format(namespace.id, lba_format)?;
    }
    media.gate = Gate::Formatting(until);
    Ok(until)
}

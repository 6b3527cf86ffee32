//! Namespace management: make, delete, attach and detach.

use super::bytes::{u16_at, u64_at};
use super::command::{Answered, Command, Done, Status};
use super::controller::Controller;
use super::events::Event;
use super::media::{ALL, MOST_NAMESPACES};
use super::subsystem::Subsystem;

/// Namespace Management.
pub(super) fn manage(subsystem: &Subsystem, command: &Command, data: &[u8]) -> Answered {
    match command.dword(10) & 15 {
        0 => create(subsystem, data),
        1 => delete(subsystem, command.namespace()),
        _ => Err(Status::INVALID_FIELD),
    }
}

fn create(subsystem: &Subsystem, data: &[u8]) -> Answered {
    if data.len() < 384 {
        return Err(Status::DATA_TRANSFER_ERROR);
    }
    let (size, capacity) = (u64_at(data, 0), u64_at(data, 8));
    if size != capacity {
        return Err(Status::THIN_PROVISIONING);
    }
    // Protection information: there is none.
    if data[29] != 0 {
        return Err(Status::INVALID_FIELD);
    }
    let mut media = subsystem.media_mut();
    media.admit()?;
    media.create(size, usize::from(data[26] & 15)).map(|id| Done::result(id.into()))
}

fn delete(subsystem: &Subsystem, id: u32) -> Answered {
    let mut media = subsystem.media_mut();
    media.admit()?;
    let ids: Vec<u32> = match id {
        ALL => media.namespaces.iter().map(|namespace| namespace.id).collect(),
        id => vec![id],
    };
    for id in ids {
        let gone = media.delete(id)?;
        subsystem.drive.trim(gone.first_byte, gone.bytes);
        let erased = subsystem.store.discard(gone.first_byte, gone.bytes);
        erased.map_err(|_| Status::INTERNAL_ERROR)?;
    }
    drop(media);
    subsystem.raise(Event::NamespaceChanged);
    Ok(Done::default())
}

/// Namespace Attachment. Hosts share a namespace: it is attached to all controllers, or to none.
pub(super) fn attach(
    subsystem: &Subsystem,
    controller: &Controller,
    command: &Command,
    data: &[u8],
) -> Answered {
    let is_attach = match command.dword(10) & 15 {
        0 => true,
        1 => false,
        _ => return Err(Status::INVALID_FIELD),
    };
    if !(1..=MOST_NAMESPACES).contains(&command.namespace()) {
        return Err(Status::INVALID_NAMESPACE);
    }
    let listed = |place: u16| {
        let at = 2 + usize::from(place) * 2;
        (at + 2 <= data.len()).then(|| u16_at(data, at))
    };
    let count = if data.len() >= 2 { u16_at(data, 0) } else { 0 };
    let known = subsystem.controller_ids();
    let all_known = (0..count).all(|place| listed(place).is_some_and(|id| known.contains(&id)));
    if count == 0 || !all_known || !known.contains(&controller.id) {
        return Err(Status::INVALID_CONTROLLER_LIST);
    }
    let mut media = subsystem.media_mut();
    media.admit()?;
    media.attach(command.namespace(), is_attach)?;
    drop(media);
    subsystem.raise(Event::NamespaceChanged);
    Ok(Done::default())
}

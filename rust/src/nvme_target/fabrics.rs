//! Commands of NVMe over Fabrics: connect a queue, get and set properties.

use std::sync::Arc;

use super::bytes::u16_at;
use super::command::{Answered, Command, Done, Status};
use super::controller::{Controller, Host, MOST_ENTRIES, MOST_IO_QUEUES};
use super::discovery::DISCOVERY_NQN;
use super::features::Features;
use super::queue::Queue;
use super::subsystem::Subsystem;

const PROPERTY_SET: u8 = 0x00;
const CONNECT: u8 = 0x01;
const PROPERTY_GET: u8 = 0x04;

const CONNECT_DATA_BYTES: usize = 1024;
const DYNAMIC: u16 = u16::MAX;
const CONTROLLER_ID_AT: usize = 16;
const SUBSYSTEM_AT: usize = 256;
const HOST_AT: usize = 512;
const NAME_BYTES: usize = 256;

/// What a connection is for.
#[derive(Clone, Debug)]
pub(super) enum Role {
    /// Nothing yet.
    New,
    Admin(Arc<Controller>),
    Io(Arc<Controller>),
}

/// Carry out a fabrics command.
pub(super) fn execute(
    subsystem: &Subsystem,
    queue: &Arc<Queue>,
    role: &mut Role,
    command: &Command,
    data: &[u8],
) -> Result<Done, (Status, u64)> {
    match (command.fabrics_type(), &*role) {
        (CONNECT, Role::New) => {
            let (made, id) = connect(subsystem, queue, command, data)?;
            *role = made;
            Ok(Done::result(id.into()))
        }
        (PROPERTY_GET, Role::Admin(controller)) => property_get(controller, command).map_err(plain),
        (PROPERTY_SET, Role::Admin(controller)) => {
            let was_ready = controller.is_ready();
            let set = controller.set_property(command.dword(11), command.qword(12));
            if was_ready && !controller.is_ready() {
                subsystem.controller_was_reset(controller);
            }
            set.map(|()| Done::default()).map_err(plain)
        }
        (CONNECT | PROPERTY_GET | PROPERTY_SET, _) => Err(plain(Status::COMMAND_SEQUENCE)),
        _ => Err(plain(Status::INVALID_OPCODE)),
    }
}

const fn plain(status: Status) -> (Status, u64) {
    (status, 0)
}

/// A refusal that tells where the parameter is: in the command, or in its data.
fn invalid(in_data: bool, at: usize) -> (Status, u64) {
    (Status::CONNECT_INVALID, u64::from(in_data) << 16 | at as u64)
}

fn property_get(controller: &Controller, command: &Command) -> Answered {
    let value = controller.property(command.dword(11))?;
    // Properties of four bytes have nothing above them.
    Ok(Done::result(if command.dword(10) & 7 == 1 { value } else { value & u64::from(u32::MAX) }))
}

fn connect(
    subsystem: &Subsystem,
    queue: &Arc<Queue>,
    command: &Command,
    data: &[u8],
) -> Result<(Role, u16), (Status, u64)> {
    if data.len() < CONNECT_DATA_BYTES {
        return Err(plain(Status::DATA_TRANSFER_ERROR));
    }
    let entry = command.bytes();
    let (record_format, number, last_entry) = (u16_at(entry, 40), u16_at(entry, 42), u16_at(entry, 44));
    if record_format != 0 {
        return Err(plain(Status::CONNECT_INCOMPATIBLE));
    }
    if !(1..MOST_ENTRIES).contains(&last_entry) {
        return Err(invalid(false, 44));
    }
    let (name, host) = (name_at(data, SUBSYSTEM_AT), host_of(data));
    let is_discovery = name == DISCOVERY_NQN;
    if !is_discovery && name != subsystem.identity.nqn {
        return Err(invalid(true, SUBSYSTEM_AT));
    }
    if host.nqn.is_empty() {
        return Err(invalid(true, HOST_AT));
    }
    let wanted = u16_at(data, CONTROLLER_ID_AT);
    queue.name(number, u32::from(last_entry) + 1);
    if number == 0 {
        if wanted != DYNAMIC {
            return Err(invalid(true, CONTROLLER_ID_AT));
        }
        let features = Features::new(command.dword(12), subsystem.warning_k());
        let made = subsystem.add_controller(|id| Controller::new(id, is_discovery, host, features, queue));
        let controller = made.ok_or(plain(Status::CONNECT_BUSY))?;
        let id = controller.id;
        if let Err(status) = subsystem.connections.settle(queue.connection(), &controller) {
            subsystem.remove_controller(id);
            return Err(plain(status));
        }
        return Ok((Role::Admin(controller), id));
    }
    let controller =
        subsystem.controller(wanted).filter(|found| !found.is_discovery && found.host.nqn == host.nqn);
    let controller = controller.ok_or(invalid(true, CONTROLLER_ID_AT))?;
    if number > MOST_IO_QUEUES {
        return Err(invalid(false, 42));
    }
    subsystem.connections.settle(queue.connection(), &controller).map_err(plain)?;
    controller.add_io_queue(number, queue).map_err(plain)?;
    Ok((Role::Io(controller), wanted))
}

fn host_of(data: &[u8]) -> Host {
    let mut id = [0; 16];
    id.copy_from_slice(&data[..16]);
    Host { nqn: name_at(data, HOST_AT), id }
}

/// A text that ends with a zero.
fn name_at(data: &[u8], at: usize) -> String {
    let field = &data[at..at + NAME_BYTES];
    let length = field.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
    String::from_utf8_lossy(&field[..length]).into_owned()
}

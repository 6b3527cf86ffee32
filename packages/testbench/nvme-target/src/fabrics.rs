//! Commands of NVMe over Fabrics: connect a queue, get and set properties.

use std::sync::Arc;

use super::authentication::{Dialogue, Outcome};
use super::bytes::u16_at;
use super::command::{Answered, Command, Done, Status};
use super::controller::{CONFIGURATION, Controller, Host, MOST_ENTRIES, MOST_IO_QUEUES, SHUTDOWN_MASK};
use super::discovery::DISCOVERY_NQN;
use super::queue::Queue;
use super::settings::Settings;
use super::subsystem::Subsystem;

const PROPERTY_SET: u8 = 0x00;
const CONNECT: u8 = 0x01;
const PROPERTY_GET: u8 = 0x04;
const AUTHENTICATION_SEND: u8 = 0x05;
const AUTHENTICATION_RECEIVE: u8 = 0x06;

/// DH-HMAC-CHAP by its numbers among the security protocols, as bytes of a command.
const CHAP_PROTOCOL: [u8; 3] = [0x01, 0x01, 0xE9];
/// What Connect's result says to a host that must authenticate.
const AUTHENTICATION_IS_REQUIRED: u64 = 1 << 17;

const NORMAL_SHUTDOWN: u64 = 1 << 14;

const CONNECT_DATA_BYTES: usize = 1024;
const DYNAMIC: u16 = u16::MAX;
const CONTROLLER_ID_AT: usize = 16;
const SUBSYSTEM_AT: usize = 256;
const HOST_AT: usize = 512;
const NAME_BYTES: usize = 256;

/// What a connection is for.
#[derive(Clone, Debug, Default)]
pub(super) enum Role {
    /// Nothing yet.
    #[default]
    New,
    Admin(Arc<Controller>),
    Io(Arc<Controller>),
}

/// What a connection may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// Connect, and prove who it is.
    #[default]
    Stranger,
    /// Ask where the drive is, and go: where others must prove who they are, this one need not.
    Visitor,
    /// All that its role allows.
    Member,
}

/// A connection's place.
#[derive(Debug, Default)]
pub(super) struct Seat {
    pub(super) role: Role,
    pub(super) standing: Standing,
    dialogue: Option<Box<Dialogue>>,
}

/// Carry out a fabrics command.
pub(super) fn execute(
    subsystem: &Subsystem,
    queue: &Arc<Queue>,
    seat: &mut Seat,
    command: &Command,
    data: &[u8],
) -> Result<Done, (Status, u64)> {
    let is_stranger = seat.standing == Standing::Stranger;
    match (command.fabrics_type(), &seat.role) {
        (CONNECT, Role::New) => {
            let (made, id) = connect(subsystem, queue, command, data)?;
            seat.role = made;
            seat.begin(subsystem, queue).map(|asked| Done::result(u64::from(id) | asked)).map_err(plain)
        }
        (AUTHENTICATION_SEND | AUTHENTICATION_RECEIVE, Role::Admin(_) | Role::Io(_)) => {
            authenticate(subsystem, queue, seat, command, data).map_err(plain)
        }
        (PROPERTY_GET | PROPERTY_SET, Role::Admin(_)) if is_stranger => {
            Err(plain(Status::AUTHENTICATION_REQUIRED))
        }
        (PROPERTY_GET, Role::Admin(controller)) => {
            property_get(subsystem, controller, command).map_err(plain)
        }
        (PROPERTY_SET, Role::Admin(controller)) => {
            let was_ready = controller.is_ready();
            if asks_for_shutdown(command) && subsystem.store.sync().is_err() {
                return Err(plain(Status::INTERNAL_ERROR));
            }
            let set = controller.set_property(command.dword(11), command.qword(12));
            if was_ready && !controller.is_ready() {
                subsystem.controller_was_reset(controller);
            }
            set.map(|()| Done::default()).map_err(plain)
        }
        (
            CONNECT | PROPERTY_GET | PROPERTY_SET | AUTHENTICATION_SEND | AUTHENTICATION_RECEIVE,
            Role::New | Role::Admin(_) | Role::Io(_),
        ) => Err(plain(Status::COMMAND_SEQUENCE)),
        _ => Err(plain(Status::INVALID_OPCODE)),
    }
}

impl Seat {
    /// A queue was connected; gives what its host must do next, as Connect tells it.
    fn begin(&mut self, subsystem: &Subsystem, queue: &Arc<Queue>) -> Result<u64, Status> {
        let (Role::Admin(controller) | Role::Io(controller)) = &self.role else { return Ok(0) };
        if subsystem.secrets.is_empty() {
            let id = controller.id;
            let is_admin = matches!(self.role, Role::Admin(_));
            return self.join(subsystem, queue).map(|()| 0).inspect_err(|_| {
                self.role = Role::New;
                if is_admin {
                    subsystem.remove_controller(id);
                }
            });
        }
        if controller.is_discovery {
            self.standing = Standing::Visitor;
            return Ok(0);
        }
        let nqn = &controller.host.nqn;
        let secret = subsystem.secrets.get(nqn).ok_or(Status::CONNECT_INVALID_HOST)?;
        self.dialogue = Some(Box::new(Dialogue::new(nqn, &subsystem.identity.nqn, secret)));
        Ok(AUTHENTICATION_IS_REQUIRED)
    }

    /// It is known who its host is, as far as that is asked for.
    fn join(&mut self, subsystem: &Subsystem, queue: &Arc<Queue>) -> Result<(), Status> {
        let (Role::Admin(controller) | Role::Io(controller)) = &self.role else { return Ok(()) };
        subsystem.connections.settle(queue.connection(), controller)?;
        if matches!(self.role, Role::Io(_)) {
            controller.add_io_queue(queue.number(), queue)?;
        }
        self.standing = Standing::Member;
        Ok(())
    }
}

/// A message of the host, or one for it.
fn authenticate(
    subsystem: &Subsystem,
    queue: &Arc<Queue>,
    seat: &mut Seat,
    command: &Command,
    data: &[u8],
) -> Answered {
    let Some(dialogue) = &mut seat.dialogue else { return Err(Status::COMMAND_SEQUENCE) };
    let length = command.dword(11) as usize;
    if command.bytes()[41..44] != CHAP_PROTOCOL {
        return Err(Status::INVALID_FIELD);
    }
    if command.fabrics_type() == AUTHENTICATION_RECEIVE {
        let message = dialogue.give()?;
        return if message.len() <= length { Ok(Done::data(message)) } else { Err(Status::INVALID_FIELD) };
    }
    if length != data.len() {
        return Err(Status::DATA_TRANSFER_ERROR);
    }
    match dialogue.take(data) {
        Outcome::GoesOn => {}
        Outcome::Failed => seat.standing = Standing::Stranger,
        // One that proves it again stays.
        Outcome::Proven if seat.standing == Standing::Stranger => seat.join(subsystem, queue)?,
        Outcome::Proven => {}
    }
    Ok(Done::default())
}

/// Whether a controller shall shut down in order: what was written is kept before it says that it has.
fn asks_for_shutdown(command: &Command) -> bool {
    command.dword(11) == CONFIGURATION && command.qword(12) & u64::from(SHUTDOWN_MASK) == NORMAL_SHUTDOWN
}

const fn plain(status: Status) -> (Status, u64) {
    (status, 0)
}

/// A refusal that tells where the parameter is: in the command, or in its data.
fn invalid(in_data: bool, at: usize) -> (Status, u64) {
    (Status::CONNECT_INVALID, u64::from(in_data) << 16 | at as u64)
}

fn property_get(subsystem: &Subsystem, controller: &Controller, command: &Command) -> Answered {
    let offset = command.dword(11);
    let value = subsystem.faults.overrides.property(offset, controller.property(offset))?;
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
    if !is_discovery && !subsystem.secrets.is_empty() && !subsystem.secrets.contains_key(&host.nqn) {
        return Err(plain(Status::CONNECT_INVALID_HOST));
    }
    let wanted = u16_at(data, CONTROLLER_ID_AT);
    queue.name(number, u32::from(last_entry) + 1);
    if number == 0 {
        if wanted != DYNAMIC {
            return Err(invalid(true, CONTROLLER_ID_AT));
        }
        let features = Settings::new(command.dword(12), subsystem.warning_k());
        let access = subsystem.character.access;
        let made =
            subsystem.add_controller(|id| Controller::new(id, is_discovery, host, features, queue, access));
        let controller = made.ok_or(plain(Status::CONNECT_BUSY))?;
        let id = controller.id;
        return Ok((Role::Admin(controller), id));
    }
    let controller =
        subsystem.controller(wanted).filter(|found| !found.is_discovery && found.host.nqn == host.nqn);
    let controller = controller.ok_or(invalid(true, CONTROLLER_ID_AT))?;
    if number > MOST_IO_QUEUES {
        return Err(invalid(false, 42));
    }
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

//! One connection of a host: its PDUs in, its commands to where they belong.

use std::collections::{HashMap, VecDeque};
use std::io::BufReader;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::admin;
use super::command::{Answer, Command, DataPlace, Done, FABRICS, MOST_TRANSFER_BYTES, Response, Status};
use super::fabrics::{self, Role, Seat, Standing};
use super::incoming::Incoming;
use super::io;
use super::pdu::{
    Fatal, HostData, NoPdu, Pdu, Wire, initialize_response, read_pdu, ready_to_transfer, terminate,
};
use super::queue::{Queue, SENDING};
use super::room::{Held, Share};
use super::subsystem::Subsystem;

/// How long a host may take until it has connected a queue, however it spreads its bytes.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How often it is looked, while a connection waits for room, whether it goes on.
const LOOK: Duration = Duration::from_millis(50);
const BUFFER_BYTES: usize = 256 << 10;

/// A command that waits for its data.
struct Transfer {
    command: Command,
    data: Vec<u8>,
    length: usize,
    is_intact: bool,
    _held: Held,
}

/// A connection, read by one thread and answered by another.
pub(super) struct Connection {
    subsystem: Arc<Subsystem>,
    queue: Arc<Queue>,
    reader: BufReader<Incoming>,
    seat: Seat,
    transfers: HashMap<u16, Transfer>,
    /// Commands that wait for room for their data, and the lengths of these.
    postponed: VecDeque<(Command, u32)>,
    /// What the transfers take.
    receiving: Arc<Share>,
    next_tag: u16,
    /// The address by which the host has come.
    port: String,
}

impl Connection {
    /// Agree with the host on what the connection is like; `None` if it is none of ours.
    pub(super) fn begin(subsystem: Arc<Subsystem>, socket: Arc<TcpStream>, number: u64) -> Option<Self> {
        socket.set_nodelay(true).ok()?;
        socket.set_write_timeout(Some(SENDING)).ok()?;
        let port = socket.local_addr().ok()?.to_string();
        let incoming = Incoming::new(Arc::clone(&socket), Instant::now() + HANDSHAKE);
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, incoming);
        let unsent = Share::new(&subsystem.unsent);
        let queue = |wire| {
            let figures = Arc::clone(&subsystem.figures);
            Queue::new(number, Arc::clone(&socket), wire, figures, Arc::clone(&unsent))
        };
        let first = queue(Wire::default());
        let agreed = match read_pdu(&mut reader, Wire::default(), 0) {
            Ok(Pdu::Initialize(asked)) if asked.format == 0 => Ok(asked.wire),
            Ok(Pdu::Initialize(_)) => Err((Fatal::UnsupportedParameter, 8, Vec::new())),
            Ok(_) => Err((Fatal::Sequence, 0, Vec::new())),
            Err(NoPdu::Broken { fatal, field, header }) => Err((fatal, field, header)),
            Err(NoPdu::Closed) => return None,
        };
        let wire =
            agreed.map_err(|(fatal, field, header)| first.send(&terminate(fatal, field, &header))).ok()?;
        first.send(&initialize_response(wire));
        let queue = Arc::new(queue(wire));
        let receiving = Share::new(&subsystem.receiving);
        Some(Self {
            subsystem,
            queue,
            reader,
            seat: Seat::default(),
            transfers: HashMap::new(),
            postponed: VecDeque::new(),
            receiving,
            next_tag: 0,
            port,
        })
    }

    /// Serve until the host goes, breaks the protocol, or is silent for too long; gives the controller whose
    /// admin connection this was.
    pub(super) fn serve(mut self) -> Option<u16> {
        let answers = Arc::clone(&self.queue);
        let writer = std::thread::Builder::new().name("answers".into()).spawn(move || answers.run()).ok()?;
        while !self.subsystem.is_stopping() {
            if !self.queue.has_room() {
                if self.queue.is_closed() {
                    break;
                }
                self.queue.wait_for_room(LOOK);
                continue;
            }
            let pdu = match read_pdu(&mut self.reader, self.queue.wire(), MOST_TRANSFER_BYTES) {
                Ok(Pdu::Terminate) | Err(NoPdu::Closed) => break,
                Ok(pdu) => self.take(pdu),
                Err(NoPdu::Broken { fatal, field, header }) => Err((fatal, field, header)),
            };
            if let Err((fatal, field, header)) = pdu {
                self.queue.send(&terminate(fatal, field, &header));
                break;
            }
            self.keep_patience();
        }
        self.queue.close();
        // One that panicked has said so already.
        let _ = writer.join();
        match self.seat.role {
            Role::Admin(controller) => Some(controller.id),
            Role::New | Role::Io(_) => None,
        }
    }

    /// Wait for the host as long as it has promised to speak; one that does not belong here has its deadline.
    fn keep_patience(&mut self) {
        let incoming = self.reader.get_mut();
        match &self.seat.role {
            Role::Admin(controller) if self.seat.standing == Standing::Member => {
                incoming.expect_from(controller);
                controller.hear();
            }
            Role::Io(controller) if self.seat.standing == Standing::Member => {
                incoming.expect_nothing();
                controller.hear();
            }
            Role::New | Role::Admin(_) | Role::Io(_) => incoming.expect_end(HANDSHAKE),
        }
    }

    fn take(&mut self, pdu: Pdu) -> Result<(), (Fatal, u32, Vec<u8>)> {
        match pdu {
            Pdu::Command { command, data, is_intact } => {
                if !self.queue.take_command() {
                    return Err((Fatal::Sequence, 0, Vec::new()));
                }
                self.take_command(command, data, is_intact);
                Ok(())
            }
            Pdu::Data(data) => self.take_data(data),
            Pdu::Initialize(_) | Pdu::Terminate => Err((Fatal::Sequence, 0, Vec::new())),
        }
    }

    fn take_command(&mut self, command: Command, data: Vec<u8>, is_intact: bool) {
        if !is_intact {
            return self.refuse(&command, Status::TRANSIENT_TRANSPORT_ERROR);
        }
        match command.data_place() {
            DataPlace::InCapsule { offset, length } => {
                if offset != 0 || length as usize != data.len() {
                    self.refuse(&command, Status::INVALID_SGL_OFFSET);
                } else {
                    self.carry_out(&command, &data);
                }
            }
            DataPlace::Apart { length } if length > 0 && command.brings_data() => {
                self.ask_for_data(command, length);
            }
            DataPlace::Apart { .. } => self.carry_out(&command, &data),
            DataPlace::Unknown => self.refuse(&command, Status::INVALID_SGL_TYPE),
        }
    }

    fn ask_for_data(&mut self, command: Command, length: u32) {
        if length > MOST_TRANSFER_BYTES {
            return self.refuse(&command, Status::INVALID_FIELD);
        }
        self.postponed.push_back((command, length));
        self.ask_for_postponed();
    }

    /// Ask for data as far as there is room for them.
    fn ask_for_postponed(&mut self) {
        while self.receiving.has_room()
            && let Some((command, length)) = self.postponed.pop_front()
        {
            self.receive(command, length);
        }
    }

    fn receive(&mut self, command: Command, length: u32) {
        while self.transfers.contains_key(&self.next_tag) {
            self.next_tag = self.next_tag.wrapping_add(1);
        }
        let tag = self.next_tag;
        self.next_tag = tag.wrapping_add(1);
        let length_in_memory = length as usize;
        let data = Vec::with_capacity(length_in_memory);
        let id = command.id();
        let held = self.receiving.hold(length_in_memory);
        let transfer = Transfer { command, data, length: length_in_memory, is_intact: true, _held: held };
        self.transfers.insert(tag, transfer);
        self.queue.send(&ready_to_transfer(self.queue.wire(), id, tag, length));
    }

    fn take_data(&mut self, data: HostData) -> Result<(), (Fatal, u32, Vec<u8>)> {
        let Some(transfer) = self.transfers.get_mut(&data.tag) else {
            return Err((Fatal::InvalidHeaderField, 10, Vec::new()));
        };
        if transfer.command.id() != data.command {
            return Err((Fatal::InvalidHeaderField, 8, Vec::new()));
        }
        let end = transfer.data.len() + data.data.len();
        if data.offset as usize != transfer.data.len() || end > transfer.length {
            return Err((Fatal::DataOutOfRange, data.offset, Vec::new()));
        }
        transfer.is_intact &= data.is_intact;
        transfer.data.extend_from_slice(&data.data);
        if data.is_last != (end == transfer.length) {
            return Err((Fatal::InvalidHeaderField, 1, Vec::new()));
        }
        if data.is_last
            && let Some(transfer) = self.transfers.remove(&data.tag)
        {
            if transfer.is_intact {
                self.carry_out(&transfer.command, &transfer.data);
            } else {
                self.refuse(&transfer.command, Status::TRANSIENT_TRANSPORT_ERROR);
            }
            drop(transfer);
            self.ask_for_postponed();
        }
        Ok(())
    }

    fn refuse(&self, command: &Command, status: Status) {
        self.queue.answer(Response::new(command, status));
    }

    fn carry_out(&mut self, command: &Command, data: &[u8]) {
        if command.opcode() == FABRICS {
            let done = fabrics::execute(&self.subsystem, &self.queue, &mut self.seat, command, data);
            return self.answer(command, done);
        }
        match &self.seat.role {
            Role::Admin(_) | Role::Io(_) if self.seat.standing == Standing::Stranger => {
                self.refuse(command, Status::AUTHENTICATION_REQUIRED);
            }
            Role::New => self.refuse(command, Status::COMMAND_SEQUENCE),
            Role::Io(controller) => match self.subsystem.faults.overrides.io(command) {
                Ok(()) => io::execute(&self.subsystem, controller, &self.queue, command, data),
                Err(status) => self.refuse(command, status),
            },
            Role::Admin(controller) => {
                let execute = || admin::execute(&self.subsystem, controller, command, data, &self.port);
                match self.subsystem.faults.overrides.admin(command, execute) {
                    Answer::Now(done) => self.answer(command, done.map_err(|status| (status, 0))),
                    Answer::At(until) => self.answer_later(command, until),
                    Answer::Held => {}
                }
            }
        }
    }

    fn answer(&self, command: &Command, done: Result<Done, (Status, u64)>) {
        let plain = Response::new(command, Status::SUCCESS);
        self.queue.answer(match done {
            Ok(Done { result, data }) if data.is_empty() => Response { result, ..plain },
            Ok(Done { result, mut data }) => match command.room() {
                Some(room) => {
                    // The host gets what it has room for.
                    data.truncate(room);
                    Response { result, data, ..plain }
                }
                None => Response { status: Status::DATA_SGL_LENGTH, ..plain },
            },
            Err((status, result)) => Response { status, result, ..plain },
        });
    }

    fn answer_later(&self, command: &Command, until: Instant) {
        self.queue.answer_untimed(until, Response::new(command, Status::SUCCESS));
    }
}

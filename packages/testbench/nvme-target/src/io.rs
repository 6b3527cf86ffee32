//! I/O commands: contents from the store, times from the simulated drive.

use std::sync::Arc;
use std::time::Instant;

use openpts_core::workload::Operation;

use super::bytes::{u32_at, u64_at};
use super::command::{Command, MOST_TRANSFER_BYTES, Response, Status};
use super::controller::{Controller, Readiness};
use super::latency_monitor::Counted;
use super::lock::lock;
use super::media::{ALL, Media, Namespace};
use super::paced_drive::{Access, Ticket, pieces};
use super::placement;
use super::queue::Queue;
use super::security::SHADOW_BYTES;
use super::subsystem::{Subsystem, Traffic};

pub(super) const FLUSH: u8 = 0x00;
pub(super) const WRITE: u8 = 0x01;
pub(super) const READ: u8 = 0x02;
pub(super) const COMPARE: u8 = 0x05;
pub(super) const WRITE_ZEROES: u8 = 0x08;
pub(super) const DATASET_MANAGEMENT: u8 = 0x09;
pub(super) const MANAGEMENT_RECEIVE: u8 = 0x12;
pub(super) const MANAGEMENT_SEND: u8 = 0x1D;

const FORCE_UNIT_ACCESS: u32 = 1 << 30;
const DEALLOCATE: u32 = 1 << 2;
const RANGE_BYTES: usize = 16;
/// What the flash's map has an entry for.
const INDIRECTION_UNIT_BYTES: u64 = 4096;

/// What the drive is given, and what goes back to the host with success.
struct Plan {
    accesses: Vec<Access>,
    data: Vec<u8>,
}

impl Plan {
    fn one(operation: Operation, offset: u64, length: u64) -> Self {
        Self { accesses: vec![Access::new(operation, offset, length)], data: Vec::new() }
    }
}

/// Carry out an I/O command; its answer goes to the queue, now or when the drive has done it.
pub(super) fn execute(
    subsystem: &Subsystem,
    controller: &Controller,
    queue: &Arc<Queue>,
    command: &Command,
    data: &[u8],
) {
    let come = Instant::now();
    subsystem.count_io();
    if subsystem.is_stopping() {
        return;
    }
    // Before namespaces are held: what takes long here shall keep no other command waiting.
    if command.opcode() == FLUSH && subsystem.store.sync().is_err() {
        return queue.answer(Response::new(command, Status::INTERNAL_ERROR));
    }
    let first_lba = if command.opcode() == FLUSH { 0 } else { command.qword(10) };
    // Held until the drive has it, so that no format or sanitize comes between contents and times.
    let media = subsystem.media();
    let planned = match controller.readiness(come) {
        Readiness::NotEnabled => Err(Status::COMMAND_SEQUENCE),
        Readiness::Controller => Err(Status::NAMESPACE_NOT_READY),
        Readiness::Media => plan(subsystem, &media, command, data),
    };
    match planned {
        Ok(Plan { accesses, data }) => {
            let _held = Some(queue.hold(data.len()));
            let response = Response { data, _held, ..Response::new(command, Status::SUCCESS) };
            let place = (command.namespace(), first_lba);
            let ticket = Ticket { queue: Arc::clone(queue), response, place, counted: counted(command) };
            subsystem.drive.submit(&accesses, come, ticket);
        }
        Err(status) => {
            if status == Status::UNRECOVERED_READ {
                Traffic::count(&subsystem.unreadable_reads, 1);
            }
            if matches!(status, Status::UNRECOVERED_READ | Status::WRITE_PROTECTED) {
                lock(&subsystem.drive.errors).add(
                    queue.number(),
                    command.id(),
                    status,
                    first_lba,
                    command.namespace(),
                );
            }
            queue.answer(Response::new(command, status));
        }
    }
}

fn plan(subsystem: &Subsystem, media: &Media, command: &Command, data: &[u8]) -> Result<Plan, Status> {
    media.admit()?;
    let (is_locked, is_shadowed) = {
        let locking = lock(&subsystem.locking);
        (locking.is_locked(), locking.is_shadowed())
    };
    if is_locked && command.opcode() != FLUSH {
        return Err(Status::ACCESS_DENIED);
    }
    if command.opcode() == FLUSH && command.namespace() == ALL {
        return Ok(Plan::one(Operation::Flush, 0, 0));
    }
    let namespace = media.attached(command.namespace())?;
    // Asked before anything is touched: what was refused has changed nothing.
    if changes_contents(command) && subsystem.drive.is_read_only() {
        return Err(Status::WRITE_PROTECTED);
    }
    if is_shadowed && matches!(command.opcode(), WRITE | WRITE_ZEROES) {
        let (offset, _) = range(namespace, command)?;
        if offset < SHADOW_BYTES {
            return Err(Status::ACCESS_DENIED);
        }
    }
    match command.opcode() {
        FLUSH => Ok(Plan::one(Operation::Flush, 0, 0)),
        WRITE => write(subsystem, namespace, command, data),
        READ => {
            let mut plan = read(subsystem, namespace, command)?;
            if is_shadowed {
                hide(&mut plan);
            }
            Ok(plan)
        }
        COMPARE => compare(subsystem, namespace, command, data),
        WRITE_ZEROES => {
            let (offset, length) = range(namespace, command)?;
            discard(subsystem, offset, length)?;
            Ok(Plan::one(Operation::Trim, offset, length))
        }
        DATASET_MANAGEMENT => deallocate(subsystem, namespace, command, data),
        MANAGEMENT_RECEIVE => {
            let data = placement::handle_status(subsystem, namespace.lba_shift(), command)?;
            Ok(Plan { accesses: Vec::new(), data })
        }
        MANAGEMENT_SEND => {
            placement::update_handles(subsystem, command, data)?;
            Ok(Plan { accesses: Vec::new(), data: Vec::new() })
        }
        _ => Err(Status::INVALID_OPCODE),
    }
}

fn changes_contents(command: &Command) -> bool {
    match command.opcode() {
        WRITE | WRITE_ZEROES => true,
        DATASET_MANAGEMENT => deallocates(command),
        _ => false,
    }
}

/// Whether a dataset management is more than a hint.
fn deallocates(command: &Command) -> bool {
    command.dword(11) & DEALLOCATE != 0
}

/// What the latency monitor counts a command as.
fn counted(command: &Command) -> Option<Counted> {
    match command.opcode() {
        READ => Some(Counted::Read),
        WRITE => Some(Counted::Write),
        DATASET_MANAGEMENT if deallocates(command) => Some(Counted::Deallocate),
        _ => None,
    }
}

/// The range of a command that has a first LBA and a number of them.
fn range(namespace: &Namespace, command: &Command) -> Result<(u64, u64), Status> {
    namespace.range(command.qword(10), u64::from(command.dword(12) & 0xFFFF) + 1)
}

/// The same where so much is read from the media at once.
fn read_range(namespace: &Namespace, command: &Command) -> Result<(u64, u64), Status> {
    let (offset, length) = range(namespace, command)?;
    if length > u64::from(MOST_TRANSFER_BYTES) {
        return Err(Status::INVALID_FIELD);
    }
    Ok((offset, length))
}

fn write(
    subsystem: &Subsystem,
    namespace: &Namespace,
    command: &Command,
    data: &[u8],
) -> Result<Plan, Status> {
    let (offset, length) = range(namespace, command)?;
    if data.len() as u64 != length {
        return Err(Status::DATA_TRANSFER_ERROR);
    }
    let handle = placement::handle_of(subsystem, command)?;
    let through = command.dword(12) & FORCE_UNIT_ACCESS != 0;
    let durable = through || subsystem.drive.write_cache() != Some(true);
    subsystem.store.write(offset, data, durable).map_err(|_| Status::WRITE_FAULT)?;
    Traffic::count(&subsystem.traffic.writes, 1);
    Traffic::count(&subsystem.traffic.write_bytes, length);
    Traffic::count(&subsystem.traffic.unaligned_writes, u64::from(offset % INDIRECTION_UNIT_BYTES != 0));
    let mut plan = Plan::one(Operation::Write, offset, length);
    plan.accesses[0].handle = handle;
    if through {
        plan.accesses.push(Access::new(Operation::Flush, 0, 0));
    }
    Ok(plan)
}

fn read(subsystem: &Subsystem, namespace: &Namespace, command: &Command) -> Result<Plan, Status> {
    let (_, length) = read_range(namespace, command)?;
    // A host ends the connection over data that it has no room for.
    if command.room().is_none_or(|room| (room as u64) < length) {
        return Err(Status::DATA_SGL_LENGTH);
    }
    contents(subsystem, namespace, command)
}

/// Show the drive's own MBR, which is empty, where blocks are behind it.
fn hide(plan: &mut Plan) {
    let begin = plan.accesses.first().map_or(SHADOW_BYTES, |access| access.offset);
    let hidden = usize::try_from(SHADOW_BYTES.saturating_sub(begin)).unwrap_or(usize::MAX);
    plan.data.iter_mut().take(hidden).for_each(|byte| *byte = 0);
}

/// A range as it is read from the media.
fn contents(subsystem: &Subsystem, namespace: &Namespace, command: &Command) -> Result<Plan, Status> {
    let (offset, length) = read_range(namespace, command)?;
    let is_asked = |at: &u64| (offset..offset + length).contains(at);
    if subsystem.faults.unreadable_bytes.iter().any(is_asked) {
        return Err(Status::UNRECOVERED_READ);
    }
    let data = subsystem.store.read(offset, length as usize).map_err(|_| Status::UNRECOVERED_READ)?;
    Traffic::count(&subsystem.traffic.reads, 1);
    Traffic::count(&subsystem.traffic.read_bytes, length);
    Ok(Plan { data, ..Plan::one(Operation::Read, offset, length) })
}

fn compare(
    subsystem: &Subsystem,
    namespace: &Namespace,
    command: &Command,
    data: &[u8],
) -> Result<Plan, Status> {
    let found = contents(subsystem, namespace, command)?;
    if found.data != data {
        return Err(Status::COMPARE_FAILURE);
    }
    Ok(Plan { data: Vec::new(), ..found })
}

fn deallocate(
    subsystem: &Subsystem,
    namespace: &Namespace,
    command: &Command,
    data: &[u8],
) -> Result<Plan, Status> {
    let ranges = (command.dword(10) & 0xFF) as usize + 1;
    if data.len() < ranges * RANGE_BYTES {
        return Err(Status::DATA_TRANSFER_ERROR);
    }
    let mut plan = Plan { accesses: Vec::new(), data: Vec::new() };
    for entry in data.chunks_exact(RANGE_BYTES).take(ranges) {
        let (offset, length) = namespace.range(u64_at(entry, 8), u32_at(entry, 4).into())?;
        plan.accesses
            .extend(pieces(offset, length).map(|(at, bytes)| Access::new(Operation::Trim, at, bytes)));
    }
    if !deallocates(command) {
        // Hints of another kind are taken, and change nothing.
        plan.accesses.clear();
    }
    for Access { offset, length, .. } in &plan.accesses {
        discard(subsystem, *offset, *length)?;
    }
    Ok(plan)
}

fn discard(subsystem: &Subsystem, offset: u64, length: u64) -> Result<(), Status> {
    subsystem.store.discard(offset, length).map_err(|_| Status::INTERNAL_ERROR)
}

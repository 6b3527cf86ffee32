//! Admin commands.

use std::sync::Arc;

use super::command::{Answer, Command, Done, Status};
use super::controller::Controller;
use super::lock::lock;
use super::opcodes::{
    ABORT, ASYNCHRONOUS_EVENT_REQUEST, DEVICE_SELF_TEST, FIRMWARE_COMMIT, FIRMWARE_DOWNLOAD, FORMAT,
    GET_FEATURES, GET_LOG_PAGE, IDENTIFY, KEEP_ALIVE, NAMESPACE_ATTACHMENT, NAMESPACE_MANAGEMENT, SANITIZE,
    SECURITY_RECEIVE, SECURITY_SEND, SET_FEATURES,
};
use super::subsystem::Subsystem;
use super::{features, format, identify, logs, namespaces, sanitize, security_commands, self_test};

/// Carry out an admin command; `port` is the address by which the host has come.
pub(super) fn execute(
    subsystem: &Arc<Subsystem>,
    controller: &Controller,
    command: &Command,
    data: &[u8],
    port: &str,
) -> Answer {
    if !controller.is_ready() && command.opcode() != KEEP_ALIVE {
        return Answer::Now(Err(Status::COMMAND_SEQUENCE));
    }
    let is_allowed = !controller.is_discovery
        || matches!(
            command.opcode(),
            GET_LOG_PAGE | IDENTIFY | SET_FEATURES | GET_FEATURES | ASYNCHRONOUS_EVENT_REQUEST | KEEP_ALIVE
        );
    if !is_allowed {
        return Answer::Now(Err(Status::INVALID_OPCODE));
    }
    Answer::Now(match command.opcode() {
        GET_LOG_PAGE => logs::get(subsystem, controller, command, port),
        IDENTIFY => identify::identify(subsystem, controller, command),
        // Nothing is ever aborted: what is under way has its answer's time already.
        ABORT => Ok(Done::result(1)),
        SET_FEATURES => features::set(subsystem, controller, command, data),
        GET_FEATURES => features::get(subsystem, controller, command),
        ASYNCHRONOUS_EVENT_REQUEST => match controller.await_event(command) {
            Ok(()) => return Answer::Held,
            Err(status) => Err(status),
        },
        KEEP_ALIVE => Ok(Done::default()),
        NAMESPACE_MANAGEMENT => namespaces::manage(subsystem, command, data),
        FIRMWARE_COMMIT => lock(&subsystem.firmware).commit(command),
        FIRMWARE_DOWNLOAD => lock(&subsystem.firmware).download(command, data),
        DEVICE_SELF_TEST => self_test::self_test(subsystem, command),
        NAMESPACE_ATTACHMENT => namespaces::attach(subsystem, controller, command, data),
        SECURITY_RECEIVE => security_commands::receive(subsystem, command),
        SECURITY_SEND => security_commands::send(subsystem, command, data),
        // Keys that are locked away can't be made anew.
        FORMAT | SANITIZE if lock(&subsystem.locking).is_locked() => Err(Status::ACCESS_DENIED),
        FORMAT => match format::format(subsystem, command) {
            Ok(until) => return Answer::At(until),
            Err(status) => Err(status),
        },
        SANITIZE => sanitize::sanitize(subsystem, command),
        _ => Err(Status::INVALID_OPCODE),
    })
}

//! An NVMe over TCP target that serves a simulated drive in wall-clock time, for the kernel's own driver.
//!
//! ```text
//! socket -> pdu -> connection -> fabrics | admin | io -> store (contents), paced_drive (times)
//! socket <- pdu <- queue: each answer when the simulated drive has it
//! ```
//!
//! Written after the NVMe base specification 1.4, NVMe over Fabrics 1.1 and the NVMe/TCP transport 1.0, and
//! authentication after the base specification 2.0. What hosts can take is bounded: connections in `connections`,
//! time in `incoming` and `queue`, memory in `room`.
//! Does not know how a drive computes its answers, and knows no Python.

#![forbid(unsafe_code)]

mod access;
mod admin;
mod authentication;
mod bytes;
mod command;
mod connection;
mod connections;
mod controller;
mod declared;
mod diffie_hellman;
mod discovery;
mod effects;
mod error_log;
mod events;
mod fabrics;
mod features;
mod figures;
mod firmware;
mod format;
mod health;
mod identify;
mod incoming;
mod io;
mod latency_monitor;
mod lock;
mod logs;
mod media;
mod namespaces;
mod ocp_logs;
mod opcodes;
mod overrides;
mod paced_drive;
mod pdu;
mod placement;
mod placement_events;
mod power;
mod power_log;
mod power_meter;
mod queue;
mod room;
mod sanitize;
mod sanitize_log;
mod security;
mod security_commands;
mod self_test;
mod self_test_log;
mod server;
mod settings;
mod store;
mod subsystem;
mod tcg_tokens;
mod telemetry;

pub use access::{Access, Security};
pub use authentication::{Secret, Secrets};
pub use figures::Served;
pub use overrides::{Change, IO, Override, Overrides};
pub use server::{Order, Target, TargetError};
pub use subsystem::{Faults, Identity};

// By public names alone; as a crate of its own it would need this one compiled once more.
#[cfg(test)]
extern crate self as openpts_nvme_target;
#[cfg(test)]
#[path = "../tests/hostile_hosts.rs"]
mod hostile_hosts;

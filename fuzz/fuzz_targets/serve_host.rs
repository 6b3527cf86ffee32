//! Whatever a host sends to a served drive, the target answers or ends the connection, and nothing in it panics.
//!
//! The first byte says how the others are sent: as they are behind a proper beginning, or as the entries and data
//! of capsules on an admin queue, or on an I/O queue; and whether to a drive that asks hosts for a proof.

#![no_main]

#[path = "../../packages/testbench/nvme-target/tests/support/mod.rs"]
mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use openpts_nvme_target::{Secret, Secrets, Target};
use support::{NQN, target};

const HOST: &str = "nqn.host";
const INITIALIZE_BYTES: usize = 128;
const ENTRY_BYTES: usize = 64;
/// More than this, and the host would have to read while it writes.
const MOST_BYTES: usize = 16 << 10;

static OPEN: LazyLock<Target> = LazyLock::new(|| target(Secrets::new()));
static LOCKED: LazyLock<Target> = LazyLock::new(|| {
    let secret = Secret { host_key: vec![1; 32], controller_key: Some(vec![2; 32]) };
    target(Secrets::from([(HOST.into(), secret)]))
});

fuzz_target!(|bytes: &[u8]| {
    let Some((how, rest)) = bytes.split_first() else { return };
    if rest.len() > MOST_BYTES {
        return;
    }
    let to = if how & 16 == 0 { OPEN.address() } else { LOCKED.address() };
    let digests = how & 3;
    match how >> 2 & 3 {
        0 => exchange(to, &[&initialize(digests), rest].concat()),
        1 => exchange(to, &[initialize(digests), connect(0, u16::MAX), rest.to_vec()].concat()),
        2 => exchange(to, &[initialize(0), connect(0, u16::MAX), capsules(rest)].concat()),
        _ => {
            exchange(to, &[initialize(0), connect(0, u16::MAX)].concat());
            exchange(to, &[initialize(0), connect(1, 1), capsules(rest)].concat());
        }
    }
});

/// Send, and read until the target has closed; it answers a proper beginning whatever came before.
fn exchange(to: SocketAddr, bytes: &[u8]) {
    let mut socket = TcpStream::connect(to).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // It may have closed already.
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(Shutdown::Write);
    let mut first = [0; INITIALIZE_BYTES];
    if socket.read_exact(&mut first).is_ok() {
        assert_eq!((first[0], first[2]), (1, 128));
    }
    let mut sink = [0; 65_536];
    loop {
        match socket.read(&mut sink) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("the target hangs"),
            Err(_) => break,
        }
    }
}

fn initialize(digests: u8) -> Vec<u8> {
    let mut pdu = vec![0; INITIALIZE_BYTES];
    pdu[2] = 128;
    pdu[4] = 128;
    pdu[11] = digests;
    pdu
}

fn capsule(entry: &[u8; ENTRY_BYTES], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(72 + data.len()).unwrap();
    let mut pdu = vec![4, 0, 72, if data.is_empty() { 0 } else { 72 }];
    pdu.extend_from_slice(&length.to_le_bytes());
    pdu.extend_from_slice(entry);
    pdu.extend_from_slice(data);
    pdu
}

/// Each entry is followed by as many bytes of data as its length says, as far as there are any.
fn capsules(mut bytes: &[u8]) -> Vec<u8> {
    let mut pdus = Vec::new();
    while let Some((entry, rest)) = bytes.split_first_chunk::<ENTRY_BYTES>() {
        let wanted = u32::from_le_bytes(entry[32..36].try_into().unwrap()) as usize;
        let data = &rest[..if entry[39] == 1 { wanted.min(rest.len()) } else { 0 }];
        pdus.extend(capsule(entry, data));
        bytes = &rest[data.len()..];
    }
    pdus
}

/// Connect a queue, and enable the controller if it is the admin queue.
fn connect(queue: u16, controller: u16) -> Vec<u8> {
    let mut data = vec![0; 1024];
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + NQN.len()].copy_from_slice(NQN.as_bytes());
    data[512..520].copy_from_slice(HOST.as_bytes());
    let mut entry = [0; ENTRY_BYTES];
    entry[0] = 0x7F;
    entry[4] = 1;
    entry[32..36].copy_from_slice(&1024_u32.to_le_bytes());
    entry[39] = 1;
    entry[42..44].copy_from_slice(&queue.to_le_bytes());
    entry[44] = 31;
    let mut bytes = capsule(&entry, &data);
    if queue == 0 {
        let mut enable = [0; ENTRY_BYTES];
        enable[0] = 0x7F;
        enable[39] = 0x5A;
        enable[44] = 0x14;
        enable[48..52].copy_from_slice(&0x0046_0001_u32.to_le_bytes());
        bytes.extend(capsule(&enable, &[]));
    }
    bytes
}

//! Whatever a host sends, the target goes on serving, and nothing in it panics.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Once};
use std::time::Duration;

use openpts_nvme_target::{Secrets, Target};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use support::{NQN, target};

static PANICS: AtomicUsize = AtomicUsize::new(0);
static WATCH: Once = Once::new();
static TARGET: LazyLock<Target> = LazyLock::new(|| target(Secrets::new()));

/// Count panics of every thread: those of the target's would else end in a closed connection only.
fn watch() {
    WATCH.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            before(panic);
        }));
    });
}

fn initialize(digests: u8) -> Vec<u8> {
    let mut pdu = vec![0; 128];
    pdu[2] = 128;
    pdu[4] = 128;
    pdu[11] = digests;
    pdu
}

fn capsule(entry: &[u8; 64], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(72 + data.len()).unwrap();
    let mut pdu = vec![4, 0, 72, if data.is_empty() { 0 } else { 72 }];
    pdu.extend_from_slice(&length.to_le_bytes());
    pdu.extend_from_slice(entry);
    pdu.extend_from_slice(data);
    pdu
}

fn entry(opcode: u8, namespace: u32, dwords: &[u32; 6], sgl_type: u8, length: u32) -> [u8; 64] {
    let mut entry = [0; 64];
    entry[0] = opcode;
    entry[4..8].copy_from_slice(&namespace.to_le_bytes());
    entry[32..36].copy_from_slice(&length.to_le_bytes());
    entry[39] = sgl_type;
    for (place, word) in dwords.iter().enumerate() {
        entry[40 + place * 4..44 + place * 4].copy_from_slice(&word.to_le_bytes());
    }
    entry
}

/// Connect a queue, and enable the controller if it is the admin queue.
fn connected(queue: u16, controller: u16) -> Vec<u8> {
    let mut data = vec![0; 1024];
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + NQN.len()].copy_from_slice(NQN.as_bytes());
    data[512..520].copy_from_slice(b"nqn.host");
    let words = [u32::from(queue) << 16, 31, 0, 0, 0, 0];
    let mut bytes = initialize(0);
    bytes.extend(capsule(&entry(0x7F, 1, &words, 1, 1024), &data));
    if queue == 0 {
        bytes.extend(capsule(&entry(0x7F, 0, &[0, 0x14, 0x0046_0001, 0, 0, 0], 0x5A, 0), &[]));
    }
    bytes
}

/// Send, and read until the target has closed.
fn exchange(bytes: &[u8]) {
    let mut socket = TcpStream::connect(TARGET.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut back = socket.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut sink = [0; 65_536];
        while back.read(&mut sink).is_ok_and(|read| read > 0) {}
    });
    // It may have closed already.
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(std::net::Shutdown::Write);
    reader.join().unwrap();
}

/// It still answers a proper beginning, and none of its threads has panicked.
fn lives() {
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
    let mut socket = TcpStream::connect(TARGET.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(&initialize(3)).unwrap();
    let mut answer = [0; 128];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!((answer[0], answer[2], answer[11]), (1, 128, 3));
}

fn word() -> impl Strategy<Value = u32> {
    prop_oneof![0..16_u32, any::<u32>(), select(vec![u32::MAX, 1 << 16, 0x0FFF_0002, 0x003F_0001])]
}

fn command() -> impl Strategy<Value = Vec<u8>> {
    let opcode = prop_oneof![
        select(vec![0, 1, 2, 5, 6, 8, 9, 0x0A, 0x0C, 0x0D, 0x15, 0x18, 0x7F, 0x80, 0x84_u8]),
        any::<u8>()
    ];
    let namespace = prop_oneof![select(vec![0, 1, 2, 4, u32::MAX]), any::<u32>()];
    let sgl_type = prop_oneof![select(vec![0, 1, 0x5A_u8]), any::<u8>()];
    let length = prop_oneof![Just(None), word().prop_map(Some)];
    let data = vec(any::<u8>(), 0..600);
    (opcode, namespace, proptest::array::uniform6(word()), sgl_type, length, data).prop_map(
        |(opcode, namespace, words, sgl_type, length, data)| {
            let length = length.unwrap_or(u32::try_from(data.len()).unwrap());
            capsule(&entry(opcode, namespace, &words, sgl_type, length), &data)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..2000), digests in 0..4_u8, begins in any::<bool>()) {
        watch();
        let whole = if begins { [initialize(digests), bytes].concat() } else { bytes };
        exchange(&whole);
        lives();
    }

    #[test]
    fn any_commands(commands in vec(command(), 1..12), queue in 0..2_u16) {
        watch();
        exchange(&[connected(0, u16::MAX), commands.concat()].concat());
        if queue == 1 {
            exchange(&[connected(1, 1), commands.concat()].concat());
        }
        lives();
    }

    #[test]
    fn a_header_with_any_byte_changed(at in 0..1200_usize, to in any::<u8>()) {
        watch();
        let mut bytes = connected(0, u16::MAX);
        bytes[at] = to;
        exchange(&bytes);
        lives();
    }
}

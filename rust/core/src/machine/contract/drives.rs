//! On drives that the environment names, all data of which may be lost: `OPENPTS_TEST_NVME` (with queues to
//! poll), `OPENPTS_TEST_NVME_GENERIC` (the same or another one's), `OPENPTS_TEST_NVME_METADATA` (the generic
//! device of one with metadata), `OPENPTS_TEST_HANGING` (with queues to poll; answers nothing any more).

use std::os::unix::fs::OpenOptionsExt;

use super::*;
use crate::machine::test_devices::drive;

/// Write, read, trim and flush a drive, all through the path.
fn exercise(path: IoPath, file: &File) {
    let waker = Waker::new().unwrap();
    let mut queue = open(path, file, &waker, 4).unwrap();
    println!("{path}: {:?}", queue.features());
    for slot in 0..4 {
        queue.buffer_mut(slot, BLOCK).fill(0x50 + slot as u8);
        queue.push(slot, &io(Operation::Write, (slot * BLOCK) as u64, BLOCK as u32));
    }
    let mut written = 0;
    while written < 4 {
        queue.enter(4 - written).unwrap();
        queue.reap(|completion| {
            assert_eq!((completion.result, completion.status), (BLOCK as i32, 0));
            written += 1;
        });
    }
    for slot in (0..4).rev() {
        let answer = run(&mut queue, slot, &io(Operation::Read, (slot * BLOCK) as u64, BLOCK as u32));
        assert_eq!((answer.slot, answer.result), (slot, BLOCK as i32));
        assert!(queue.buffer(slot, BLOCK).iter().all(|byte| *byte == 0x50 + slot as u8));
    }
    if queue.supports(Operation::Flush) {
        assert_eq!(run(&mut queue, 1, &io(Operation::Flush, 0, 0)).result, 0);
    }
    if queue.supports(Operation::Trim) {
        let trim = io(Operation::Trim, BLOCK as u64, 2 * BLOCK as u32);
        assert_eq!(run(&mut queue, 2, &trim), Completion { slot: 2, result: 0, status: 0 });
        for (block, byte) in [0x50, 0, 0, 0x53].into_iter().enumerate() {
            run(&mut queue, 0, &io(Operation::Read, (block * BLOCK) as u64, BLOCK as u32));
            assert!(queue.buffer(0, BLOCK).iter().all(|found| *found == byte), "block {block}");
        }
    }
    assert_eq!(queue.in_flight(), 0);
    waiting_is_bounded(&mut queue, &waker);
}

fn waiting_is_bounded(queue: &mut TargetQueue, waker: &Waker) {
    let began = Instant::now();
    queue.enter_for(1, Duration::from_millis(30)).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(30));
    waker.wake();
    queue.enter(1).unwrap();
}

fn open_direct(path: &str) -> File {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path).unwrap()
}

#[test]
fn a_drive_is_polled() {
    let Some(path) = drive("OPENPTS_TEST_NVME") else { return };
    let file = open_direct(&path);
    exercise(IoPath::UringPolled, &file);
    let queue = open(IoPath::UringPolled, &file, &Waker::new().unwrap(), 1).unwrap();
    let supported = Operation::ALL.map(|operation| queue.supports(operation));
    assert_eq!(supported, [true, true, false, false, false]);
    assert!(queue.features().iter().any(|feature| feature == ("polled", true)));
}

#[test]
fn a_drive_is_driven_by_interrupts_and_by_system_calls() {
    let Some(path) = drive("OPENPTS_TEST_NVME") else { return };
    let file = open_direct(&path);
    exercise(IoPath::Uring, &file);
    let mut queue = queue(IoPath::Synchronous, &file);
    queue.buffer_mut(0, BLOCK).fill(0x77);
    assert_eq!(result(&mut queue, Operation::Write, 0, BLOCK as u32), BLOCK as i32);
    assert_eq!(result(&mut queue, Operation::Trim, 0, BLOCK as u32), 0);
    assert_eq!(result(&mut queue, Operation::Read, 0, BLOCK as u32), BLOCK as i32);
    assert_eq!(queue.buffer(0, BLOCK), [0; BLOCK]);
}

#[test]
fn a_polled_drive_that_hangs_can_be_left() {
    let Some(path) = drive("OPENPTS_TEST_HANGING") else { return };
    let waker = Waker::new().unwrap();
    let mut queue = open(IoPath::UringPolled, &open_direct(&path), &waker, 4).unwrap();
    (0..4).for_each(|slot| queue.push(slot, &io(Operation::Read, 0, BLOCK as u32)));
    // The first commands may still come through.
    let mut answered = true;
    while answered {
        let began = Instant::now();
        queue.enter_for(4, Duration::from_millis(200)).unwrap();
        answered = false;
        queue.reap(|_| answered = true);
        assert!(answered || began.elapsed() >= Duration::from_millis(200));
    }
    assert!(queue.in_flight() > 0);
    waker.wake();
    let began = Instant::now();
    queue.enter(4).unwrap();
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_drive_takes_nvme_commands() {
    let Some(path) = drive("OPENPTS_TEST_NVME_GENERIC") else { return };
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    exercise(IoPath::Passthrough, &file);
    let target = Target::duplicate(file.as_raw_fd()).unwrap();
    assert_eq!(target.kind(), TargetKind::NvmeGeneric);
    let capacity_bytes = target.capacity_bytes().unwrap();
    let mut queue = queue(IoPath::Passthrough, &file);
    let beyond = run(&mut queue, 0, &io(Operation::Read, capacity_bytes, 512));
    // "LBA Out of Range" of the generic status codes; the bits above them say not to try again.
    assert_eq!((beyond.result, beyond.status & 0x7ff), (-libc::EIO, 0x80));
    let refused = |path, sector_bytes| {
        let shape = Shape { slots: 1, block_bytes: BLOCK, sector_bytes };
        let opened = TargetQueue::open(path, &target, &Waker::new().unwrap(), &shape);
        opened.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(refused(IoPath::Passthrough, 4096).contains("no blocks of 4096 B"));
    assert!(refused(IoPath::Uring, 512).contains("NVMe commands only"));
    assert!(refused(IoPath::Synchronous, 512).contains("NVMe commands only"));
    let most_bytes = target.queue_attribute("max_hw_sectors_kb").unwrap() as usize * 1024;
    let most_pages = target.queue_attribute("max_segments").unwrap() as usize;
    let most_bytes = most_bytes.min(most_pages * 4096);
    for (block_bytes, fits) in [(most_bytes, true), (most_bytes + 4096, false)] {
        let shape = Shape { slots: 3, block_bytes, sector_bytes: 512 };
        let opened = TargetQueue::open(IoPath::Passthrough, &target, &Waker::new().unwrap(), &shape);
        assert_eq!(opened.is_ok(), fits);
        let Ok(mut queue) = opened else { continue };
        for slot in 0..3 {
            let answer = run(&mut queue, slot, &io(Operation::Read, 0, block_bytes as u32));
            assert_eq!(answer.result, block_bytes as i32);
        }
    }
}

#[test]
fn a_drive_with_metadata_is_refused_commands() {
    let Some(path) = drive("OPENPTS_TEST_NVME_METADATA") else { return };
    let opened = open(IoPath::Passthrough, &File::open(path).unwrap(), &Waker::new().unwrap(), 1);
    let error = opened.err().unwrap().to_string();
    assert!(error.contains("the namespace's blocks carry 8 B of metadata"), "{error}");
}

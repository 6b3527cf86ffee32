//! One suite for all paths: what a queue promises, held against files, pipes and drives.

mod drives;

use std::fs::{File, OpenOptions};
use std::io::{PipeReader, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::test_devices::{LoopDevice, is_root, skipped};
use super::*;
use crate::workload::{Io, Operation};

const BLOCK: usize = 4096;
/// The paths that take any file.
const FILE_PATHS: [IoPath; 2] = [IoPath::Uring, IoPath::Synchronous];

fn open(path: IoPath, file: &impl AsRawFd, waker: &Waker, slots: usize) -> Result<TargetQueue, QueueError> {
    let target = Target::duplicate(file.as_raw_fd()).unwrap();
    TargetQueue::open(path, &target, waker, &Shape { slots, block_bytes: BLOCK, sector_bytes: 512 })
}

fn queue(path: IoPath, file: &impl AsRawFd) -> TargetQueue {
    open(path, file, &Waker::new().unwrap(), 1).unwrap()
}

fn io(operation: Operation, offset_bytes: u64, length_bytes: u32) -> Io {
    Io::new(operation, offset_bytes, length_bytes)
}

fn run(queue: &mut impl Queue, slot: usize, io: &Io) -> Completion {
    queue.push(slot, io);
    let mut answer = None;
    while answer.is_none() {
        queue.enter(1).unwrap();
        queue.reap(|completion| answer = Some(completion));
    }
    assert_eq!(queue.in_flight(), 0);
    answer.unwrap()
}

fn result(queue: &mut impl Queue, operation: Operation, offset_bytes: u64, length_bytes: u32) -> i32 {
    run(queue, 0, &io(operation, offset_bytes, length_bytes)).result
}

#[test]
fn what_is_written_is_read_back() {
    for path in FILE_PATHS {
        let file = tempfile::tempfile().unwrap();
        let mut queue = queue(path, &file);
        queue.buffer_mut(0, 512).fill(0xa5);
        assert_eq!(result(&mut queue, Operation::Write, 8192, 512), 512);
        queue.buffer_mut(0, 512).fill(0);
        assert_eq!(result(&mut queue, Operation::Read, 8192, 512), 512);
        assert_eq!(queue.buffer(0, 512), [0xa5; 512]);
        let mut written = [0; 512];
        file.read_exact_at(&mut written, 8192).unwrap();
        assert_eq!(written, [0xa5; 512]);
    }
}

#[test]
fn a_read_past_the_end_is_short_and_stays_so() {
    for path in FILE_PATHS {
        let file = tempfile::tempfile().unwrap();
        file.set_len(600).unwrap();
        let mut queue = queue(path, &file);
        assert_eq!(result(&mut queue, Operation::Read, 512, 512), 88);
        assert_eq!(result(&mut queue, Operation::Read, 4096, 512), 0);
    }
}

#[test]
fn an_error_comes_back_as_a_negative_errno() {
    for path in FILE_PATHS {
        let named = tempfile::NamedTempFile::new().unwrap();
        let mut queue = queue(path, &File::open(named.path()).unwrap());
        assert_eq!(result(&mut queue, Operation::Write, 0, 512), -libc::EBADF);
        assert_eq!(result(&mut queue, Operation::Trim, 0, 512), -libc::EBADF);
    }
}

#[test]
fn a_trim_of_a_file_punches_a_hole() {
    for path in FILE_PATHS {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![0xa5; 1 << 20]).unwrap();
        let mut queue = queue(path, &file);
        assert!(queue.supports(Operation::Trim));
        assert_eq!(result(&mut queue, Operation::Flush, 0, 0), 0);
        let before = file.metadata().unwrap().blocks();
        assert_eq!(result(&mut queue, Operation::Trim, 256 << 10, 512 << 10), 0);
        assert_eq!(result(&mut queue, Operation::Fsync, 0, 0), 0);
        let after = file.metadata().unwrap();
        assert_eq!((before - after.blocks()) * 512, 512 << 10, "{path}");
        assert_eq!(after.len(), 1 << 20);
        let mut contents = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut contents).unwrap();
        let trimmed = |at: &usize| (256 << 10..768 << 10).contains(at);
        assert!(contents.iter().enumerate().all(|(at, byte)| (*byte == 0) == trimmed(&at)));
    }
}

#[test]
fn a_trim_of_a_loop_device_reaches_the_file_below() {
    if !is_root() {
        return skipped("only root can make a loop device");
    }
    for path in FILE_PATHS {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![0xa5; 1 << 20]).unwrap();
        let device = match LoopDevice::on(file.path()) {
            Ok(device) => device,
            Err(reason) => return skipped(&reason),
        };
        let mut queue = queue(path, &device.open());
        if !queue.supports(Operation::Trim) {
            skipped(&format!("{path}: this kernel or loop device has no discard"));
            continue;
        }
        assert_eq!(result(&mut queue, Operation::Trim, 64 << 10, 128 << 10), 0);
        assert_eq!(result(&mut queue, Operation::Trim, 1, 512), -libc::EINVAL);
        assert_eq!(result(&mut queue, Operation::Flush, 0, 0), 0);
        let mut contents = [0xff; 256 << 10];
        file.as_file().read_exact_at(&mut contents, 0).unwrap();
        let trimmed = |at: &usize| (64 << 10..192 << 10).contains(at);
        assert!(contents.iter().enumerate().all(|(at, byte)| (*byte == 0) == trimmed(&at)), "{path}");
    }
}

#[test]
fn what_a_target_cannot_do_is_said_beforehand() {
    let zero = OpenOptions::new().read(true).write(true).open("/dev/zero").unwrap();
    for path in FILE_PATHS {
        let mut queue = queue(path, &zero);
        let supported = Operation::ALL.map(|operation| queue.supports(operation));
        assert_eq!(supported, [true, true, false, false, false]);
        assert_eq!(result(&mut queue, Operation::Read, 1 << 40, 4096), 4096);
        assert_eq!(result(&mut queue, Operation::Write, 0, 4096), 4096);
    }
}

#[test]
fn the_ring_keeps_several_in_flight_and_takes_them_in_any_order() {
    let file = tempfile::tempfile().unwrap();
    let waker = Waker::new().unwrap();
    for batched in [false, true] {
        let mut queue = open(IoPath::Uring, &file, &waker, 8).unwrap();
        for slot in 0..8 {
            queue.buffer_mut(slot, 512).fill(slot as u8);
            queue.push(slot, &io(Operation::Write, 512 * slot as u64, 512));
        }
        let mut slots = Vec::new();
        while slots.len() < 8 {
            let missing = 8 - slots.len();
            if batched {
                queue.enter_batched(missing, Duration::from_millis(5)).unwrap();
            } else {
                queue.enter(missing).unwrap();
            }
            queue.reap(|completion| {
                assert_eq!(completion.result, 512);
                slots.push(completion.slot);
            });
        }
        slots.sort_unstable();
        assert_eq!(slots, (0..8).collect::<Vec<_>>());
    }
    let mut contents = [0; 4096];
    file.read_exact_at(&mut contents, 0).unwrap();
    assert!(contents.iter().enumerate().all(|(at, byte)| usize::from(*byte) == at / 512));
}

#[test]
fn a_batched_wait_is_content_with_one_when_its_patience_ends() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut queue = open(IoPath::Uring, &reader, &Waker::new().unwrap(), 2).unwrap();
    writer.write_all(&[7; 512]).unwrap();
    queue.push(0, &io(Operation::Read, 0, 512));
    queue.push(1, &io(Operation::Read, 0, 512));
    queue.enter_batched(2, Duration::from_millis(20)).unwrap();
    let mut results = Vec::new();
    queue.reap(|completion| results.push(completion.result));
    assert_eq!(results, [512]);
    assert_eq!(queue.in_flight(), 1);
}

#[test]
fn the_no_op_path_claims_what_was_asked_for() {
    let mut queue = queue(IoPath::NoOp, &File::open("/dev/null").unwrap());
    for operation in Operation::ALL {
        let expected = match operation {
            Operation::Read | Operation::Write => 4096,
            _ => 0,
        };
        assert!(queue.supports(operation));
        assert_eq!(result(&mut queue, operation, 0, 4096), expected);
    }
}

#[test]
fn the_timer_path_answers_when_its_time_is_over() {
    let mut queue = queue(IoPath::Timer, &File::open("/dev/null").unwrap());
    for _ in 0..3 {
        let began = Instant::now();
        assert_eq!(result(&mut queue, Operation::Read, 0, 4096), 4096);
        assert!(began.elapsed() >= TIMER_DELAY, "{:?}", began.elapsed());
    }
}

#[test]
fn the_synchronous_path_takes_one_at_a_time() {
    let error = open(IoPath::Synchronous, &File::open("/dev/null").unwrap(), &Waker::new().unwrap(), 2);
    assert!(error.err().unwrap().to_string().contains("one I/O at a time in each thread, not 2"));
}

#[test]
fn paths_refuse_targets_that_they_do_not_suit() {
    let file = tempfile::tempfile().unwrap();
    for (path, reason) in
        [(IoPath::UringPolled, "direct I/O"), (IoPath::Passthrough, "the target is a regular file")]
    {
        let error = open(path, &file, &Waker::new().unwrap(), 1).err().unwrap().to_string();
        assert!(error.contains(path.name()) && error.contains(reason), "{error}");
    }
}

/// A ring that waits for a pipe into which nothing is written: a device that hangs.
fn hanging(reader: &PipeReader, waker: &Waker, slots: usize) -> TargetQueue {
    let mut queue = open(IoPath::Uring, reader, waker, slots).unwrap();
    (0..slots).for_each(|slot| queue.push(slot, &io(Operation::Read, 0, 512)));
    queue
}

/// All queues that can be made to wait here without end, and how many I/Os they wait for.
fn waiting(reader: &PipeReader, waker: &Waker) -> Vec<(TargetQueue, usize)> {
    let file = tempfile::tempfile().unwrap();
    let idle = |path| (open(path, &file, waker, 1).unwrap(), 1);
    vec![
        (hanging(reader, waker, 1), 1),
        (hanging(reader, waker, 3), 3),
        idle(IoPath::Uring),
        idle(IoPath::Synchronous),
        idle(IoPath::NoOp),
    ]
}

#[test]
fn waiting_ends_with_the_time_out() {
    let (reader, _writer) = std::io::pipe().unwrap();
    for (mut queue, ios) in waiting(&reader, &Waker::new().unwrap()) {
        let (before, began) = (queue.in_flight(), Instant::now());
        queue.enter_for(ios, Duration::from_millis(120)).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(120), "{:?}", began.elapsed());
        queue.reap(|_| panic!("an empty pipe has nothing to read"));
        assert_eq!(queue.in_flight(), before);
        // Dropping it now must neither wait nor free the buffers under the kernel.
    }
}

#[test]
fn an_alarm_ends_a_wait_of_any_kind_once_and_leaves_the_next_alone() {
    let (reader, _writer) = std::io::pipe().unwrap();
    type Enter = fn(&mut TargetQueue) -> Result<(), QueueError>;
    let waits: [Enter; 3] = [
        |queue| queue.enter(1),
        |queue| queue.enter_for(1, Duration::from_secs(60)),
        |queue| queue.enter_batched(2, Duration::from_millis(1)),
    ];
    for (wait, slots) in waits.iter().flat_map(|wait| [(wait, 1), (wait, 8)]) {
        let mut queue = hanging(&reader, &Waker::new().unwrap(), slots);
        assert!(queue.keeps_time());
        queue.set_alarm(Duration::from_millis(40));
        let began = Instant::now();
        wait(&mut queue).unwrap();
        let waited = began.elapsed();
        assert!((Duration::from_millis(40)..Duration::from_secs(30)).contains(&waited), "{waited:?}");
        queue.reap(|_| panic!("an empty pipe has nothing to read"));
        assert_eq!(queue.in_flight(), slots);
        let began = Instant::now();
        queue.enter_for(1, Duration::from_millis(60)).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(60), "it rings once");
    }
}

#[test]
fn alarms_leave_each_slot_its_entry() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let mut queue = open(IoPath::Uring, &reader, &Waker::new().unwrap(), 6).unwrap();
    (0..20).for_each(|_| queue.set_alarm(Duration::from_secs(60)));
    (0..6).for_each(|slot| queue.push(slot, &io(Operation::Read, 0, 512)));
    queue.enter_for(1, Duration::from_millis(1)).unwrap();
    assert_eq!(queue.in_flight(), 6);
}

#[test]
fn waiting_ends_when_the_waker_is_woken_once_for_each_queue() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let waker = Arc::new(Waker::new().unwrap());
    let queues = waiting(&reader, &waker);
    let other = Arc::clone(&waker);
    let began = Instant::now();
    let sleeper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        other.wake();
    });
    for (mut queue, ios) in queues {
        queue.enter(ios).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(30));
        queue.reap(|_| panic!("an empty pipe has nothing to read"));
        // A thread that was woken waits as always.
        let told = Instant::now();
        queue.enter_for(ios, Duration::from_millis(60)).unwrap();
        assert!(told.elapsed() >= Duration::from_millis(60));
    }
    sleeper.join().unwrap();
}

#[test]
#[should_panic(expected = "is the kernel's")]
fn a_buffer_in_flight_cannot_be_changed() {
    let (reader, _writer) = std::io::pipe().unwrap();
    hanging(&reader, &Waker::new().unwrap(), 1).buffer_mut(0, 512);
}

#[test]
#[should_panic(expected = "is the kernel's")]
fn a_buffer_in_flight_cannot_be_looked_at() {
    let file = tempfile::tempfile().unwrap();
    let mut queue = queue(IoPath::Synchronous, &file);
    queue.push(0, &io(Operation::Read, 0, 512));
    queue.buffer(0, 512);
}

#[test]
#[should_panic(expected = "in a buffer of 4096 B")]
fn a_transfer_larger_than_its_buffer_is_refused() {
    queue(IoPath::Uring, &tempfile::tempfile().unwrap()).push(0, &io(Operation::Read, 0, 8192));
}

#[test]
fn the_buffers_of_a_ring_that_is_dropped_in_flight_stay_mapped() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut queue = hanging(&reader, &Waker::new().unwrap(), 1);
    queue.enter(0).unwrap();
    let TargetQueue::File(ring) = &mut queue else { unreachable!("opened as io_uring") };
    let memory = ring.lent_memory();
    drop(queue);
    // The kernel may still fill it, and reading it must not fault.
    let _ = writer.write_all(&[7; 512]);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_mapped = maps.lines().any(|line| {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).unwrap());
        (start..end).contains(&memory)
    });
    assert!(is_mapped, "{memory:x} in\n{maps}");
}

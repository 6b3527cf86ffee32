//! Finds out which way suits a target. It only reads.

use std::io::{self, IoSliceMut};
use std::time::{Duration, Instant};

use io_uring::IoUring;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::buffers::Buffers;
use super::features::Features;
use super::path::IoPath;
use super::positional::Positional;
use super::queue::{Queue, Shape};
use super::ring::Ring;
use super::target::{Target, TargetKind};
use super::waker::Waker;
use crate::workload::{Io, Operation};

/// Reads of each of the two ways, if there is time.
const READS: u64 = 48;
/// From here on no further read is begun.
const TIME_LIMIT: Duration = Duration::from_millis(40);
/// A read that takes longer ends the measurement.
const READ_LIMIT: Duration = Duration::from_millis(100);
/// What a read transfers, unless a sector is larger or the target smaller.
const READ_BYTES: u64 = 4096;
/// The part of a target without a size that is read.
const ENDLESS_BYTES: u64 = 1 << 20;
/// io_uring is slower than this many times a system call, and by so much, only where its I/Os go through
/// the kernel's worker threads.
const WORKER_FACTOR: u64 = 2;
const WORKER_NS: u64 = 5_000;
/// Fewer reads don't show it: on a busy machine one is as likely to be late as another.
const TELLING_READS: usize = 16;

/// One thing that was found out, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// In words or figures.
    pub value: String,
}

/// The path that suits a target, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The path.
    pub path: IoPath,
    /// What decided, in words.
    pub reason: &'static str,
    /// All that was found.
    pub findings: Vec<Finding>,
    /// What the kernel gives a ring on this target.
    pub features: Features,
}

/// Choose the path for a target. This takes some 40 ms; 200 ms on one that hardly answers.
#[must_use]
pub fn probe(target: &Target, sector_bytes: u32) -> Probe {
    let mut facts = Facts::default();
    facts.note("kind", target.kind().name());
    facts.note("direct", yes_or_no(target.is_direct()));
    if target.kind() == TargetKind::BlockDevice {
        let polled = target.queue_attribute("io_poll");
        facts.note("poll_queues", polled.map_or("unknown", |value| yes_or_no(value == 1)));
    }
    let (path, reason) = choose(target, sector_bytes, &mut facts);
    Probe { path, reason, findings: facts.findings, features: facts.features }
}

#[derive(Default)]
struct Facts {
    findings: Vec<Finding>,
    features: Features,
}

impl Facts {
    fn note(&mut self, name: &'static str, value: impl Into<String>) {
        self.findings.push(Finding { name, value: value.into() });
    }
}

fn yes_or_no(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

fn choose(target: &Target, sector_bytes: u32, facts: &mut Facts) -> (IoPath, &'static str) {
    let available = IoUring::new(1);
    facts.note("io_uring", available.as_ref().map_or_else(io::Error::to_string, |_| "available".into()));
    if target.kind() == TargetKind::NvmeGeneric {
        return (IoPath::Passthrough, "the target takes NVMe commands only");
    }
    if available.is_err() {
        return (IoPath::Synchronous, "io_uring is not available");
    }
    let Some(area) = ReadArea::of(target, sector_bytes) else {
        return (IoPath::Uring, "the target is too small to be measured");
    };
    let measured = measure(target, &area, facts);
    if measured == Measured::Unanswered {
        return (IoPath::Uring, "the target does not answer: with io_uring, waits for it can be left");
    }
    let nowait = answers_nowait(target, &area);
    facts.note("nowait", nowait.text());
    match (nowait, measured) {
        (Nowait::Unsupported, _) => {
            (IoPath::Synchronous, "the target can't issue without waiting: io_uring would use worker threads")
        }
        (_, Measured::BothWays { ring, call }) if ring.pays_workers(&call) => {
            (IoPath::Synchronous, "io_uring is slower than a system call by what worker threads cost")
        }
        (_, Measured::BothWays { .. }) => (IoPath::Uring, "the target issues without waiting"),
        _ => (IoPath::Uring, "nothing speaks against io_uring; no read could be timed"),
    }
}

/// Where and how much to read.
struct ReadArea {
    length_bytes: u32,
    blocks: u64,
}

impl ReadArea {
    /// `None` where there is not even one sector.
    fn of(target: &Target, sector_bytes: u32) -> Option<Self> {
        let sector_bytes = u64::from(sector_bytes.max(1));
        let capacity_bytes = target.capacity_bytes().unwrap_or(ENDLESS_BYTES);
        let length_bytes = READ_BYTES.next_multiple_of(sector_bytes);
        let length_bytes = length_bytes.min(capacity_bytes - capacity_bytes % sector_bytes);
        let blocks = capacity_bytes.checked_div(length_bytes)?;
        Some(Self { length_bytes: u32::try_from(length_bytes).ok()?, blocks })
    }

    /// The read number `index` of `2 * READS`, which are spread over the target.
    fn read(&self, index: u64) -> Io {
        let block = u128::from(self.blocks) * u128::from(index) / u128::from(2 * READS);
        let block = u64::try_from(block).expect("less than all blocks");
        let offset_bytes = block * u64::from(self.length_bytes);
        Io::new(Operation::Read, offset_bytes, self.length_bytes)
    }
}

/// What a read that must not wait is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nowait {
    Supported,
    Unsupported,
    Unknown(Errno),
}

impl Nowait {
    fn text(self) -> String {
        match self {
            Self::Supported => "yes".into(),
            Self::Unsupported => "no".into(),
            Self::Unknown(error) => format!("unknown: {}", io::Error::from(error)),
        }
    }
}

/// The kernel may wait for the read itself all the same: only for targets that are known to answer.
fn answers_nowait(target: &Target, area: &ReadArea) -> Nowait {
    let length = area.length_bytes as usize;
    let Ok(mut buffers) = Buffers::new(1, length, 0) else { return Nowait::Unknown(Errno::NOMEM) };
    let mut memory = [IoSliceMut::new(buffers.block_mut(0, length))];
    match preadv2(target, &mut memory, 0, ReadWriteFlags::NOWAIT) {
        // Not without waiting just now, but it understood.
        Ok(_) | Err(Errno::AGAIN) => Nowait::Supported,
        Err(Errno::OPNOTSUPP) => Nowait::Unsupported,
        Err(error) => Nowait::Unknown(error),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Measured {
    /// Latencies of single reads.
    BothWays { ring: Latencies, call: Latencies },
    /// No read succeeded both ways.
    Nothing,
    /// A read has not come back.
    Unanswered,
}

/// Read in turns through a ring and by system calls. Failing reads are left out.
fn measure(target: &Target, area: &ReadArea, facts: &mut Facts) -> Measured {
    let shape = Shape { slots: 1, block_bytes: area.length_bytes as usize, sector_bytes: area.length_bytes };
    let Ok(waker) = Waker::new() else { return Measured::Nothing };
    let ring = Ring::on_file(target, &waker, &shape);
    let (Ok(mut ring), Ok(mut calls)) = (ring, Positional::new(target, &waker, &shape)) else {
        return Measured::Nothing;
    };
    facts.features = ring.features();
    let (mut ring_ns, mut call_ns) = (Vec::new(), Vec::new());
    let began = Instant::now();
    for index in 0..READS {
        // The ring goes first: its wait can be bounded, that of a system call can't.
        let Some(through_ring) = time_read(&mut ring, &area.read(2 * index)) else {
            facts.note("measurement", format!("given up: a read took over {} ms", READ_LIMIT.as_millis()));
            return Measured::Unanswered;
        };
        ring_ns.extend(through_ring);
        call_ns.extend(time_read(&mut calls, &area.read(2 * index + 1)).flatten());
        if began.elapsed() > TIME_LIMIT {
            break;
        }
    }
    facts.note("reads", format!("{} of io_uring, {} of sync", ring_ns.len(), call_ns.len()));
    let (Some(ring), Some(call)) = (Latencies::of(&mut ring_ns), Latencies::of(&mut call_ns)) else {
        return Measured::Nothing;
    };
    for (name, latencies) in [("io_uring_qd1_median_ns", ring), ("sync_qd1_median_ns", call)] {
        facts.note(name, latencies.median_ns.to_string());
    }
    Measured::BothWays { ring, call }
}

/// Of reads with nothing else outstanding. A mean would be that of the few reads during which another
/// program ran.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Latencies {
    reads: usize,
    lower_quartile_ns: u64,
    median_ns: u64,
}

impl Latencies {
    fn of(values_ns: &mut [u64]) -> Option<Self> {
        values_ns.sort_unstable();
        let reads = values_ns.len();
        let (quartile, median) = (values_ns.get(reads / 4)?, values_ns.get(reads / 2)?);
        Some(Self { reads, lower_quartile_ns: *quartile, median_ns: *median })
    }

    /// Whether these are what a ring takes that hands its I/Os to worker threads, and `call` a system call's.
    /// Every I/O pays for it: those that nothing else disturbed, and those in the middle.
    fn pays_workers(&self, call: &Self) -> bool {
        let pays = |ring_ns: u64, call_ns: u64| ring_ns > (call_ns * WORKER_FACTOR).max(call_ns + WORKER_NS);
        self.reads.min(call.reads) >= TELLING_READS
            && pays(self.lower_quartile_ns, call.lower_quartile_ns)
            && pays(self.median_ns, call.median_ns)
    }
}

/// Latency of one read; `Some(None)` if it failed, `None` if it has not come back.
fn time_read(queue: &mut impl Queue, io: &Io) -> Option<Option<u64>> {
    queue.push(0, io);
    let began = Instant::now();
    let mut result = None;
    while result.is_none() && began.elapsed() < READ_LIMIT {
        queue.enter_for(1, READ_LIMIT.saturating_sub(began.elapsed())).ok()?;
        queue.reap(|completion| result = Some(completion.result));
    }
    let latency_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    result.map(|bytes| (u32::try_from(bytes) == Ok(io.length_bytes)).then_some(latency_ns))
}

// System calls that Miri does not know.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::machine::test_devices::{LoopDevice, ZramDevice, drive, is_root, skipped};
    use std::fs::{File, OpenOptions};
    use std::io::Write;
    use std::os::fd::AsRawFd;

    fn probed(file: &impl AsRawFd) -> Probe {
        let began = Instant::now();
        let found = probe(&Target::duplicate(file.as_raw_fd()).unwrap(), 512);
        println!("{found:#?} in {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(5));
        found
    }

    fn value<'a>(probe: &'a Probe, name: &str) -> Option<&'a str> {
        probe.findings.iter().find(|finding| finding.name == name).map(|finding| finding.value.as_str())
    }

    #[test]
    fn an_endless_device_is_measured_both_ways() {
        let found = probed(&File::open("/dev/zero").unwrap());
        assert_eq!(value(&found, "kind"), Some("character device"));
        assert_eq!(value(&found, "reads"), Some("48 of io_uring, 48 of sync"));
        for name in ["io_uring_qd1_median_ns", "sync_qd1_median_ns"] {
            assert!(value(&found, name).unwrap().parse::<u64>().unwrap() > 0);
        }
    }

    #[test]
    fn a_file_is_read_and_nothing_else() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![0xa5; 1 << 20]).unwrap();
        let found = probed(&file);
        assert_eq!(value(&found, "reads"), Some("48 of io_uring, 48 of sync"));
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
    }

    #[test]
    fn what_cannot_be_read_does_not_fail_the_probe() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let write_only = OpenOptions::new().write(true).open(file.path()).unwrap();
        let found = probed(&write_only);
        assert_eq!((found.path, value(&found, "reads")), (IoPath::Uring, Some("0 of io_uring, 0 of sync")));
        assert!(value(&found, "nowait").unwrap().starts_with("unknown"));
    }

    #[test]
    fn worker_threads_show_in_most_reads_of_many() {
        let latencies = |values: &[u64]| Latencies::of(&mut values.to_vec()).unwrap();
        let (call, workers) = (latencies(&[1_000; 48]), latencies(&[20_000; 48]));
        assert!(workers.pays_workers(&call));
        assert!(!latencies(&[2_000; 48]).pays_workers(&call), "a ring's own cost");
        assert!(!latencies(&[20_000; 15]).pays_workers(&call), "too few");
        let disturbed = [[1_500; 16], [900_000; 16], [900_000; 16]].concat();
        assert!(!latencies(&disturbed).pays_workers(&call), "another program's time");
        let (late, sometimes) = ([40_000; 48], [[15_000; 16], [42_700; 16], [42_700; 16]].concat());
        assert!(
            !latencies(&late).pays_workers(&latencies(&sometimes)),
            "a loop device's thread on a busy machine"
        );
        assert!(!latencies(&[90_000; 48]).pays_workers(&latencies(&[80_000; 48])), "a drive's own time");
    }

    #[test]
    fn tiny_and_empty_targets_are_no_trouble() {
        for length in [0, 511, 512, 1000, 4095] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(length).unwrap();
            let found = probed(&file);
            assert_eq!(value(&found, "nowait").is_some(), length >= 512);
        }
    }

    #[test]
    fn a_target_that_does_not_answer_is_given_up() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let found = probed(&reader);
        assert_eq!(found.path, IoPath::Uring);
        assert!(value(&found, "measurement").unwrap().starts_with("given up"));
    }

    #[test]
    fn a_loop_device_suits_io_uring_and_zram_does_not() {
        if !is_root() {
            return skipped("only root can make block devices");
        }
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        file.as_file().set_len(16 << 20).unwrap();
        match LoopDevice::on(file.path()) {
            Ok(device) => {
                let found = probed(&device.open());
                assert_eq!((found.path, value(&found, "nowait")), (IoPath::Uring, Some("yes")));
                assert_eq!(value(&found, "poll_queues"), Some("no"));
            }
            Err(reason) => skipped(&reason),
        }
        match ZramDevice::new(16 << 20) {
            Ok(device) => {
                let found = probed(&device.open());
                assert_eq!((found.path, value(&found, "nowait")), (IoPath::Synchronous, Some("no")));
            }
            Err(reason) => skipped(&reason),
        }
    }

    #[test]
    fn a_drive_suits_io_uring_and_its_generic_device_commands() {
        let (Some(block), Some(generic)) = (drive("OPENPTS_TEST_NVME"), drive("OPENPTS_TEST_NVME_GENERIC"))
        else {
            return;
        };
        let found = probed(&File::open(block).unwrap());
        assert_eq!((found.path, value(&found, "poll_queues")), (IoPath::Uring, Some("yes")));
        assert_eq!(probed(&File::open(generic).unwrap()).path, IoPath::Passthrough);
    }
}

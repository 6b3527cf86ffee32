//! What capturing costs: the worker thread for each I/O, the writer for each I/O, and the disk.
//!
//!     cargo bench --bench capture_cost
//!
//! Printed are medians over repeats of processor time, which a shared machine disturbs less than the clock.
//! "hot" is `Tap::record` while the writer encodes in its own thread and the buffers have room; the loop
//! around it is measured alone and subtracted. "writer" is what one processor would encode in a second. The
//! files go nowhere.

use openpts_core::capture::{CaptureConfiguration, CapturedIo};
use openpts_core::workload::Operation;
use openpts_trace::capture::{Destination, PartFile, open};
use rand_core::Rng;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

const TERABYTE: u64 = 1_000_000_000_000;
/// I/Os of a pattern: enough for several row groups.
const IOS: usize = 4 << 20;
const HOT_IOS: usize = 512 << 10;
const HOT_REPEATS: usize = 21;
const WRITER_REPEATS: usize = 5;

fn main() {
    println!("{:<44} {:>8} {:>10} {:>9}", "pattern", "hot", "writer", "disk");
    println!("{:<44} {:>8} {:>10} {:>9}", "", "ns/IO", "M IO/s", "B/IO");
    for pattern in patterns() {
        let ios = pattern.ios(IOS);
        let hot_ns = hot_ns(&pattern, &ios);
        let runs: Vec<(f64, f64)> = (0..WRITER_REPEATS).map(|_| throughput(&pattern, &ios)).collect();
        let millions_per_s = median(runs.iter().map(|run| run.0).collect());
        println!("{:<44} {hot_ns:>8.2} {millions_per_s:>10.2} {:>9.2}", pattern.name, runs[0].1);
    }
}

/// One thread in a closed loop.
struct Pattern {
    name: &'static str,
    lba_bytes: u32,
    capacity_bytes: u64,
    sizes: Vec<u32>,
    random: bool,
    read_pct: u64,
    qd: usize,
    /// Median and shape of the log-normal latency.
    latency_ns: (f64, f64),
    /// I/Os that are submitted with one system call and share its time.
    batch: usize,
}

fn patterns() -> Vec<Pattern> {
    let random = || Pattern {
        name: "4 KiB random read, 1 TB, QD 32",
        lba_bytes: 512,
        capacity_bytes: TERABYTE,
        sizes: vec![4096],
        random: true,
        read_pct: 100,
        qd: 32,
        latency_ns: (80_000.0, 0.35),
        batch: 1,
    };
    vec![
        random(),
        Pattern { name: "the same, LBA in units of 4 KiB", lba_bytes: 4096, ..random() },
        Pattern { name: "the same, batches of 8", batch: 8, ..random() },
        Pattern { name: "the same, 65 % read", read_pct: 65, ..random() },
        Pattern { name: "the same, 30 TB", capacity_bytes: 30 * TERABYTE, ..random() },
        Pattern {
            name: "the same, 30 TB, LBA in units of 4 KiB",
            capacity_bytes: 30 * TERABYTE,
            lba_bytes: 4096,
            ..random()
        },
        Pattern { name: "the same, wide latency (sigma 1)", latency_ns: (80_000.0, 1.0), ..random() },
        Pattern { name: "the same, QD 1", qd: 1, ..random() },
        Pattern { name: "the same, QD 1024, 2.5 ms", qd: 1024, latency_ns: (2.5e6, 0.35), ..random() },
        Pattern {
            name: "64 sizes of 512 B to 32 KiB, 65 % read",
            sizes: (1..=64).map(|n| n * 512).collect(),
            read_pct: 65,
            ..random()
        },
        Pattern {
            name: "128 KiB sequential write, QD 32",
            sizes: vec![128 << 10],
            random: false,
            read_pct: 0,
            latency_ns: (1.2e6, 0.2),
            ..random()
        },
    ]
}

impl Pattern {
    /// I/Os in the order of their completion.
    fn ios(&self, count: usize) -> Vec<CapturedIo> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut outstanding = BTreeMap::new();
        let mut ios = Vec::with_capacity(count);
        let (mut now_ns, mut next_bytes, mut submitted) = (0, 0, 0_u64);
        while ios.len() < count {
            let room = self.qd - outstanding.len();
            if room >= self.batch {
                for _ in 0..room {
                    let io = self.io(&mut random, now_ns, &mut next_bytes);
                    outstanding.insert((now_ns + io.latency_ns, submitted), io);
                    submitted += 1;
                }
                now_ns += 300;
            }
            if let Some(((ended_ns, _), io)) = outstanding.pop_first() {
                now_ns = now_ns.max(ended_ns);
                ios.push(io);
            }
        }
        ios
    }

    fn io(&self, random: &mut Xoshiro256PlusPlus, now_ns: u64, next_bytes: &mut u64) -> CapturedIo {
        let length_bytes = self.sizes[(random.next_u64() % self.sizes.len() as u64) as usize];
        let alignment_bytes = if length_bytes.is_multiple_of(4096) { 4096 } else { 512 };
        let offset_bytes = if self.random {
            random.next_u64() % (self.capacity_bytes / alignment_bytes) * alignment_bytes
        } else {
            *next_bytes
        };
        *next_bytes += u64::from(length_bytes);
        let (median_ns, sigma) = self.latency_ns;
        let latency_ns = (median_ns * (sigma * standard_normal(random)).exp()) as u64;
        let is_read = random.next_u64() % 100 < self.read_pct;
        let operation = if is_read { Operation::Read } else { Operation::Write };
        CapturedIo { submitted_ns: now_ns, latency_ns, offset_bytes, length_bytes, operation, result: 0 }
    }
}

/// Box and Muller.
fn standard_normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let mut unit = || ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos()
}

/// Nanoseconds of one record, without the loop that makes them.
fn hot_ns(pattern: &Pattern, ios: &[CapturedIo]) -> f64 {
    // A few I/Os, so that reading them is not what is measured.
    let ios = &ios[..1024];
    let (capture, mut taps) = open(Nowhere, CaptureConfiguration::new(pattern.lba_bytes, 1)).unwrap();
    let tap = &mut taps[0];
    // Once through all buffers, which have been touched only by the thread that made them.
    feed(ios, 3 * HOT_IOS, |io| tap.record(0, io));
    let mut samples = Vec::new();
    for _ in 0..HOT_REPEATS {
        std::thread::sleep(Duration::from_millis(200));
        let blocked = capture.state().waits;
        let alone = feed(ios, HOT_IOS, |io| _ = black_box(io));
        let recorded = feed(ios, HOT_IOS, |io| tap.record(0, io));
        if capture.state().waits == blocked {
            samples.push((recorded - alone) / HOT_IOS as f64);
        }
    }
    drop(taps);
    capture.finish().unwrap();
    median(samples)
}

/// Processor time of making so many I/Os and doing this with each.
fn feed(ios: &[CapturedIo], count: usize, mut to: impl FnMut(CapturedIo)) -> f64 {
    let began_ns = cpu_ns(ClockId::ThreadCPUTime);
    for round in 0..(count / ios.len()) as u64 {
        for io in ios {
            to(CapturedIo { submitted_ns: io.submitted_ns + round, ..black_box(*io) });
        }
    }
    cpu_ns(ClockId::ThreadCPUTime) - began_ns
}

fn cpu_ns(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Millions of I/Os that the writer encodes in a second of its processor, and bytes of each on disk.
fn throughput(pattern: &Pattern, ios: &[CapturedIo]) -> (f64, f64) {
    let (capture, mut taps) = open(Nowhere, CaptureConfiguration::new(pattern.lba_bytes, 1)).unwrap();
    let mut tap = taps.remove(0);
    let began_ns = cpu_ns(ClockId::ProcessCPUTime);
    let fed_ns = feed(ios, ios.len(), |io| tap.record(0, io));
    drop(tap);
    let summary = capture.finish().unwrap();
    let writer_ns = cpu_ns(ClockId::ProcessCPUTime) - began_ns - fed_ns;
    assert_eq!(summary.ios_written, ios.len() as u64);
    (ios.len() as f64 / writer_ns * 1e3, summary.bytes_written as f64 / ios.len() as f64)
}

/// NaN, if the machine was too busy for a single undisturbed run.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

struct Nowhere;

impl Destination for Nowhere {
    fn begin(&self, _number: u32) -> io::Result<Box<dyn PartFile>> {
        Ok(Box::new(Self))
    }
}

impl Write for Nowhere {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(black_box(buffer).len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PartFile for Nowhere {
    fn cut(&mut self, _length_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn complete(self: Box<Self>) -> io::Result<PathBuf> {
        Ok(PathBuf::new())
    }
}

//! What the engine pays before a device does anything: a reading of the clock, and an I/O that does nothing.
//!
//! Prints the least of several rounds, which is the one that other programs disturbed least.

use std::fs::File;
use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::time::Instant;

use openpts_core::clock::Clock;
use openpts_core::machine::{IoPath, Queue, Shape, Target, TargetQueue, Waker};
use openpts_core::workload::{Io, Operation};

const ROUNDS: usize = 7;
const READINGS: u32 = 2_000_000;
const IOS: usize = 1_000_000;
const BATCH: usize = 32;

fn least_ns(count: usize, mut round: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        round();
        began.elapsed().as_nanos() as f64 / count as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn clock_readings() {
    let clock = Clock::default();
    let ours_ns = least_ns(READINGS as usize, || {
        for _ in 0..READINGS {
            black_box(clock.now_ns());
        }
    });
    let system_ns = least_ns(READINGS as usize, || {
        for _ in 0..READINGS {
            black_box(Instant::now());
        }
    });
    println!("clock: {:6.1} ns a reading ({}); system clock {system_ns:.1} ns", ours_ns, clock.source());
}

/// Keep a queue busy, a batch at a time.
fn issue(queue: &mut impl Queue, batch: usize) {
    let io = Io::new(Operation::Read, 0, 4096);
    let mut done = 0;
    while done < IOS {
        (0..batch).for_each(|slot| queue.push(slot, &io));
        queue.enter(batch).expect("no-ops and /dev/zero can be issued");
        queue.reap(|completion| {
            assert_eq!(completion.result, 4096);
            done += 1;
        });
    }
}

fn path(path: IoPath, slots: usize) {
    let zero = File::open("/dev/zero").expect("every Linux has it");
    let target = Target::duplicate(zero.as_raw_fd()).expect("it is open");
    let waker = Waker::new().expect("a descriptor");
    let shape = Shape { slots, block_bytes: 4096, sector_bytes: 512 };
    let mut any = TargetQueue::open(path, &target, &waker, &shape).expect("the path suits /dev/zero");
    let any_ns = least_ns(IOS, || issue(&mut any, slots));
    let alone_ns = match &mut any {
        TargetQueue::File(queue) => least_ns(IOS, || issue(queue, slots)),
        TargetQueue::Nvme(queue) => least_ns(IOS, || issue(queue, slots)),
        TargetQueue::Positional(queue) => least_ns(IOS, || issue(queue, slots)),
        TargetQueue::NoOp(queue) => least_ns(IOS, || issue(queue, slots)),
    };
    println!("{path:>10}: {any_ns:6.1} ns an I/O in batches of {slots}; {alone_ns:.1} ns without the choice");
}

fn main() {
    clock_readings();
    path(IoPath::NoOp, BATCH);
    path(IoPath::Uring, BATCH);
    path(IoPath::Uring, 1);
    path(IoPath::Synchronous, 1);
}

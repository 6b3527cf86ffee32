//! I/Os per second of processor time that a simulated drive answers in the steady state of random writing.
//! The best of several repeats counts: other programs on the machine
//! only make it slower.
//!
//!     cargo bench --bench drive_speed            # 5.5 GiB
//!     cargo bench --bench drive_speed -- 88      # another size, in GiB

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use openpts_core::workload::{Io, Operation, Uniform};
use openpts_sim::{Answer, Drive, Preset, Ps, Scale, open};
use rustix::time::{ClockId, clock_gettime};

const PRESET: &str = include_str!("../../../packages/openpts_sim/presets/enterprise-tlc.toml");
const REPEATS: u32 = 5;
const OUTSTANDING: u32 = 256;
/// I/Os whose addresses are known before they are submitted.
const AHEAD: usize = 32;
/// From one run to the next, long enough to drain, too short for idle work.
const PAUSE_PS: Ps = 10_000_000_000;

/// Draws what is issued.
struct Pattern {
    random: Uniform,
    read_pct: u64,
    block_bytes: u32,
    blocks: u64,
    is_sequential: bool,
    next: u64,
}

impl Pattern {
    fn next(&mut self) -> Io {
        let is_read = self.read_pct == 100 || self.read_pct > 0 && self.random.below(100) < self.read_pct;
        let block = if self.is_sequential {
            self.next = (self.next + 1) % self.blocks;
            self.next
        } else {
            self.random.below(self.blocks)
        };
        let operation = if is_read { Operation::Read } else { Operation::Write };
        Io::new(operation, block * u64::from(self.block_bytes), self.block_bytes)
    }
}

/// Run a closed loop from a moment on; gives the moment of its last submission.
fn run(drive: &mut dyn Drive, pattern: &mut Pattern, ios: u64, from_ps: Ps) -> Ps {
    let mut slots: BinaryHeap<_> = (0..OUTSTANDING).map(|slot| Reverse((from_ps, slot))).collect();
    let mut ahead = [pattern.next(); AHEAD];
    for io in &mut ahead {
        *io = pattern.next();
        drive.prefetch(io);
    }
    let mut now_ps = from_ps;
    for n in 0..ios as usize {
        let mut top = slots.peek_mut().expect("never empty");
        let Reverse((ready_ps, slot)) = *top;
        now_ps = ready_ps;
        let io = std::mem::replace(&mut ahead[n % AHEAD], pattern.next());
        drive.prefetch(&ahead[n % AHEAD]);
        match drive.submit(&io, slot, now_ps) {
            Answer::Known(completion) => *top = Reverse((completion.at_ps, slot)),
            Answer::Deferred => unreachable!("the preset has a protected cache"),
        }
    }
    now_ps
}

/// Processor time of this thread.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() {
    let gib: f64 = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(5.5);
    let preset = Preset::parse(PRESET).expect("it ships");
    let capacity_bytes = (gib * f64::from(1 << 30)) as u64;
    let factor = (preset.capacity_bytes / capacity_bytes).max(1) as u32;
    let scale = Scale::new(factor).expect("at least 1");
    let mut drive = open(&preset, capacity_bytes, scale, 1).expect("it ships");
    drive.jump_start().expect("greedy collection has a steady state");
    println!("{gib} GiB, {OUTSTANDING} outstanding");
    let mut now_ps = 0;
    for (thread, (name, read_pct, block_bytes, is_sequential, ios)) in (0..).zip([
        ("4 KiB random write", 0, 4096, false, 1_000_000),
        ("4 KiB random read", 100, 4096, false, 1_000_000),
        ("4 KiB random 65/35", 65, 4096, false, 1_000_000),
        ("128 KiB sequential read", 100, 131_072, true, 100_000),
        ("128 KiB sequential write", 0, 131_072, true, 100_000),
    ]) {
        let blocks = drive.capacity_bytes() / u64::from(block_bytes);
        // Reads at the offsets of the writes before them would meet only the few dies of one group.
        let random = Uniform::for_thread(7, thread);
        let mut pattern = Pattern { random, read_pct, block_bytes, blocks, is_sequential, next: 0 };
        let (before, mut best_s, mut virtual_s) = (drive.smart(), f64::INFINITY, 0.0);
        for _ in 0..REPEATS {
            let started_s = cpu_s();
            let from_ps = now_ps + PAUSE_PS;
            now_ps = run(&mut *drive, &mut pattern, ios, from_ps);
            virtual_s = (now_ps - from_ps) as f64 / 1e12;
            best_s = best_s.min(cpu_s() - started_s);
        }
        let after = drive.smart();
        let host = after.nand_pages.host - before.nand_pages.host;
        let nand = after.nand_pages.total() - before.nand_pages.total();
        let per_s = ios as f64 / best_s / 1e6;
        let pages = per_s * f64::from(block_bytes / 4096);
        print!("{name:24} {per_s:6.2} M I/Os/s, {pages:6.2} M pages/s");
        print!(", {:7.1} k IOPS of the drive", ios as f64 / virtual_s / 1e3);
        println!(
            "{}",
            if host > 0 { format!(", WA {:.3}", nand as f64 / host as f64) } else { String::new() }
        );
    }
}

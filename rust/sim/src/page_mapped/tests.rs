//! Whole drives, driven by a closed loop of their own.

mod admin;
mod caches;
mod latency;
mod laws;
mod recovery;
mod repeatable;
mod shape;
mod single_bit;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use openpts_core::workload::Uniform;

use super::partial_pages::PAGE_BYTES;
use super::*;
use crate::preset::{PageMapped, Preset};
use crate::scale::Scale;
use crate::time::{NEVER, PS_PER_S};

const ENTERPRISE: &str = include_str!("../../../../packages/openpts_sim/presets/enterprise-tlc.toml");
const CLIENT: &str = include_str!("../../../../packages/openpts_sim/presets/client-qlc.toml");
const REDUCTION: &str = include_str!("../../../../packages/openpts_sim/presets/sata-reduction.toml");

const PAGE: u64 = PAGE_BYTES as u64;
/// A drive of the enterprise preset with one row to a superblock: the smallest of its shape.
const ONE_ROW_PAGES: u64 = 720_000;

fn preset(text: &str, change: impl FnOnce(&mut PageMapped)) -> Preset {
    let mut preset = Preset::parse(text).expect("it ships");
    change(preset.page_mapped.as_mut().expect("a page-mapped drive"));
    preset
}

/// A drive, and a host that never asks twice for the same moment.
struct Bench {
    drive: PageMappedDrive,
    now_ps: Ps,
}

/// What a closed loop measured.
struct Run {
    begin_ps: Ps,
    end_ps: Ps,
    latencies_ps: Vec<Ps>,
    errors: usize,
}

impl Run {
    fn elapsed_s(&self) -> f64 {
        (self.end_ps - self.begin_ps) as f64 / PS_PER_S as f64
    }

    fn per_s(&self) -> f64 {
        self.latencies_ps.len() as f64 / self.elapsed_s()
    }

    fn mean_us(&self) -> f64 {
        self.latencies_ps.iter().sum::<Ps>() as f64 / self.latencies_ps.len() as f64 / 1e6
    }

    fn percentile_us(&mut self, share: f64) -> f64 {
        let index = ((self.latencies_ps.len() - 1) as f64 * share) as usize;
        *self.latencies_ps.select_nth_unstable(index).1 as f64 / 1e6
    }
}

impl Bench {
    fn new(preset: &Preset, pages: u64, scale: u32) -> Self {
        let scale = Scale::new(scale).expect("at least 1");
        let model = preset.page_mapped.as_ref().expect("a page-mapped drive");
        let drive = PageMappedDrive::new(preset, model, pages * PAGE, scale, 1).expect("a sound preset");
        Self { drive, now_ps: 0 }
    }

    fn pages(&self) -> u64 {
        self.drive.capacity_bytes() / PAGE
    }

    /// Keep so many outstanding until all are issued, then wait for the last.
    fn run(&mut self, outstanding: u32, ios: u64, next: impl FnMut() -> Io) -> Run {
        self.run_until(outstanding, ios, NEVER, next)
    }

    /// The same, but issue nothing from a moment on.
    fn run_until(&mut self, outstanding: u32, ios: u64, until_ps: Ps, mut next: impl FnMut() -> Io) -> Run {
        let begin_ps = self.now_ps;
        let mut ready: BinaryHeap<_> = (0..outstanding).map(|slot| Reverse((begin_ps, slot))).collect();
        let mut submitted_ps = vec![0; outstanding as usize];
        let mut run = Run { begin_ps, end_ps: begin_ps, latencies_ps: Vec::new(), errors: 0 };
        let (mut issued, mut answered) = (0, Vec::new());
        loop {
            let next_ps = ready.peek().map_or(NEVER, |Reverse((at_ps, _))| *at_ps);
            let known_ps = self.drive.next_answer_ps();
            if known_ps <= next_ps && known_ps < NEVER {
                self.now_ps = self.now_ps.max(known_ps);
                self.drive.answer_until(self.now_ps, &mut answered);
                assert!(!answered.is_empty(), "an answer was announced");
            } else {
                let Some(Reverse((at_ps, slot))) = ready.pop() else { break };
                self.now_ps = at_ps;
                if issued < ios && at_ps < until_ps {
                    issued += 1;
                    submitted_ps[slot as usize] = at_ps;
                    if let Answer::Known(completion) = self.drive.submit(&next(), slot, at_ps) {
                        answered.push((slot, completion));
                    }
                }
            }
            for (slot, Completion { at_ps, error }) in answered.drain(..) {
                run.latencies_ps.push(at_ps - submitted_ps[slot as usize]);
                run.errors += usize::from(error.is_some());
                run.end_ps = run.end_ps.max(at_ps);
                ready.push(Reverse((at_ps, slot)));
            }
        }
        self.now_ps = run.end_ps;
        run
    }

    /// Latency of a single I/O.
    fn one(&mut self, io: Io) -> Ps {
        self.run(1, 1, || io).latencies_ps[0]
    }

    fn idle(&mut self, length_ps: Ps) {
        self.now_ps += length_ps;
        self.drive.idle_until(self.now_ps);
    }

    /// Write the whole drive once, from its first page to its last.
    fn fill(&mut self) -> Run {
        let ios = self.pages() / 32;
        let mut sequence = sequential(Operation::Write, 32, self.pages());
        self.run(32, ios, &mut sequence)
    }

    /// NAND pages for each page of the host since an earlier look.
    fn amplification_since(&self, before: &Smart) -> f64 {
        let (now, before) = (self.drive.smart().nand_pages, before.nand_pages);
        (now.total() - before.total()) as f64 / (now.host - before.host) as f64
    }
}

fn io(operation: Operation, page: u64, pages: u64) -> Io {
    Io::new(operation, page * PAGE, (pages * PAGE) as u32)
}

/// Blocks of so many pages behind each other, from the first again after the last.
fn sequential(operation: Operation, pages: u64, of_pages: u64) -> impl FnMut() -> Io {
    let (blocks, mut next) = (of_pages / pages, 0);
    move || {
        next += 1;
        io(operation, (next - 1) % blocks * pages, pages)
    }
}

/// Single pages anywhere.
fn random(operation: Operation, of_pages: u64, seed: u64) -> impl FnMut() -> Io {
    let mut random = Uniform::for_thread(seed, 0);
    move || io(operation, random.below(of_pages), 1)
}

/// The same with reads and writes.
fn mixed(read_pct: u64, of_pages: u64, seed: u64) -> impl FnMut() -> Io {
    let mut random = Uniform::for_thread(seed, 0);
    move || {
        let operation = if random.below(100) < read_pct { Operation::Read } else { Operation::Write };
        io(operation, random.below(of_pages), 1)
    }
}

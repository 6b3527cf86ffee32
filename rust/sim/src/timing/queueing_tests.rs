//! Stages and dies against closed formulas, and against a simulation that keeps the true order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use openpts_core::workload::Uniform;

use super::die::{Die, Manners};
use super::*;
use crate::ftl::Cells;
use crate::preset;
use crate::time::{Ps, ps_of_us, ps_per_byte_fixed, transfer_ps};

/// A closed loop: so many outstanding, each submitted anew when it is answered.
fn closed_loop(outstanding: u32, ios: u64, mut submit: impl FnMut(Ps) -> Ps) -> Loop {
    let mut heap: BinaryHeap<_> = (0..outstanding).map(|slot| Reverse((0, slot))).collect();
    let mut result = Loop { end_ps: 0, latencies_ps: Vec::with_capacity(ios as usize) };
    while (result.latencies_ps.len() as u64) < ios {
        let Reverse((now_ps, slot)) = heap.pop().expect("never empty");
        let answered_ps = submit(now_ps);
        result.latencies_ps.push(answered_ps - now_ps);
        result.end_ps = result.end_ps.max(now_ps);
        heap.push(Reverse((answered_ps, slot)));
    }
    result
}

struct Loop {
    end_ps: Ps,
    latencies_ps: Vec<Ps>,
}

impl Loop {
    fn per_s(&self) -> f64 {
        self.latencies_ps.len() as f64 / self.end_ps as f64 * 1e12
    }

    fn mean_us(&self) -> f64 {
        self.latencies_ps.iter().map(|ps| *ps as f64).sum::<f64>() / self.latencies_ps.len() as f64 / 1e6
    }

    fn percentile_us(&mut self, share: f64) -> f64 {
        let index = ((self.latencies_ps.len() - 1) as f64 * share) as usize;
        *self.latencies_ps.select_nth_unstable(index).1 as f64 / 1e6
    }
}

#[test]
fn a_closed_network_of_exponential_dies_has_its_exact_rate() {
    // D queues, Q customers, each next queue drawn at random: X = D Q / ((Q + D - 1) S).
    const DIES: u64 = 64;
    const MEAN_US: f64 = 62.0;
    let manners = Manners { suspend_ps: 0, patience_ps: Ps::MAX };
    for outstanding in [1, 2, 8, 32, 64, 256, 1024] {
        let mut random = Uniform::for_thread(3, 0);
        let mut dies = vec![Die::new(); DIES as usize];
        let ios = 1_000_000;
        let run = closed_loop(outstanding, ios, |now_ps| {
            let die = random.below(DIES) as usize;
            let service_us = -(1.0 - random.unit()).ln() * MEAN_US;
            dies[die].read(now_ps, ps_of_us(service_us), manners)
        });
        let (d, q) = (DIES as f64, f64::from(outstanding));
        let theory = d * q / ((q + d - 1.0) * MEAN_US) * 1e6;
        let (rate, little) = (run.per_s(), run.per_s() * run.mean_us() / 1e6);
        let off = (rate / theory - 1.0) * 100.0;
        println!("Q {outstanding}: {rate:.0}/s, {off:+.2} % of theory; rate x mean = {little:.3}");
        assert!(off.abs() < 1.0);
        // Little's law, up to those that are outstanding when the counting ends.
        assert!((little / q - 1.0).abs() < 0.001 + q / ios as f64);
    }
}

const DIES: u64 = 64;
const CHANNELS: u64 = 8;
const FRONT_PS: Ps = 1_500_000;
const READ_PS: Ps = 62_000_000;
const TRANSFER_PS: Ps = 4_000_000;
const LINK_BYTES_PER_S: f64 = 3.37e9;

/// The same net with events in their true order: front end, die, channel, link.
struct TrueOrder {
    events: BinaryHeap<Reverse<(Ps, u64, u32, u8)>>,
    sequence: u64,
    front: Stage,
    dies: Vec<Stage>,
    channels: Vec<Stage>,
    link: Stage,
    random: Uniform,
    /// Of each slot: when it was submitted, and the die it goes to.
    slots: Vec<(Ps, usize)>,
}

impl TrueOrder {
    fn new(outstanding: u32) -> Self {
        let mut this = Self {
            events: BinaryHeap::new(),
            sequence: 0,
            front: Stage::default(),
            dies: vec![Stage::default(); DIES as usize],
            channels: vec![Stage::default(); CHANNELS as usize],
            link: Stage::default(),
            random: Uniform::for_thread(3, 0),
            slots: vec![(0, 0); outstanding as usize],
        };
        (0..outstanding).for_each(|slot| this.push(0, slot, 0));
        this
    }

    fn push(&mut self, at_ps: Ps, slot: u32, stage: u8) {
        self.sequence += 1;
        self.events.push(Reverse((at_ps, self.sequence, slot, stage)));
    }

    fn run(mut self, ios: u64) -> Loop {
        let link_ps = transfer_ps(4096, ps_per_byte_fixed(LINK_BYTES_PER_S));
        let mut result = Loop { end_ps: 0, latencies_ps: Vec::new() };
        while (result.latencies_ps.len() as u64) < ios {
            let Reverse((now_ps, _, slot, stage)) = self.events.pop().expect("never empty");
            let die = self.slots[slot as usize].1;
            let end_ps = match stage {
                0 => {
                    self.slots[slot as usize] = (now_ps, self.random.below(DIES) as usize);
                    self.front.book(now_ps, FRONT_PS)
                }
                1 => self.dies[die].book(now_ps, READ_PS),
                2 => self.channels[die % CHANNELS as usize].book(now_ps, TRANSFER_PS),
                3 => self.link.book(now_ps, link_ps),
                _ => {
                    result.latencies_ps.push(now_ps - self.slots[slot as usize].0);
                    result.end_ps = now_ps;
                    now_ps
                }
            };
            self.push(end_ps, slot, if stage == 4 { 0 } else { stage + 1 });
        }
        result
    }
}

#[test]
fn shared_stages_may_be_booked_before_the_dies() {
    let nand = preset::Nand {
        read_us: READ_PS as f64 / 1e6,
        program_us: 2880.0,
        erase_us: 8000.0,
        rows_per_erase: 1,
        transfer_us: TRANSFER_PS as f64 / 1e6,
        suspend_us: 0.0,
        suspends_per_program: 0.0,
        starvation_us: 20_000.0,
    };
    let wires = preset::Link { read_bytes_per_s: LINK_BYTES_PER_S, ..preset::Link::default() };
    const IOS: u64 = 400_000;
    for outstanding in [1, 4, 16, 64, 128, 256, 512] {
        let mut truth = TrueOrder::new(outstanding).run(IOS);
        let mut flash = Flash::new(DIES as u32, CHANNELS as u32, &nand, None);
        let (mut front_end, mut link) = (FrontEnd::new(None), Link::new(&wires));
        let mut random = Uniform::for_thread(3, 0);
        let mut ours = closed_loop(outstanding, IOS, |now_ps| {
            let accepted_ps = front_end.book(now_ps, FRONT_PS);
            let crossing = link.book_read(accepted_ps, 4096);
            let die = random.below(DIES) as usize;
            flash.read(die, Cells::Native, crossing.first_page_ps, 1, 0).max(crossing.end_ps)
        });
        let rate_off = (ours.per_s() / truth.per_s() - 1.0) * 100.0;
        let mean_off = (ours.mean_us() / truth.mean_us() - 1.0) * 100.0;
        let (tail, true_tail) = (ours.percentile_us(0.999), truth.percentile_us(0.999));
        let tail_off = (tail / true_tail - 1.0) * 100.0;
        println!(
            "Q {outstanding}: {:.0}/s {rate_off:+.2} %, mean {:.1} us {mean_off:+.2} %, \
             p99.9 {tail:.0} us {tail_off:+.2} %",
            ours.per_s(),
            ours.mean_us()
        );
        assert!(rate_off.abs() < 0.5 && mean_off.abs() < 0.6 && tail_off.abs() < 5.0);
    }
}

//! What it costs to decide on the next I/O, in ns, and to make a stream at the start of a step, in us, for
//! several stimuli. The best of several repeats counts: other programs on the machine only make it slower.
//!
//!     cargo bench --bench stream_speed

use std::hint::black_box;
use std::time::Instant;

use openpts_core::workload::{
    BlockSize, Carried, IoStream, OperationWeights, Placement, Step, Stimulus, Stop, Zone,
};

const IOS: u32 = 1_000_000;
const REPEATS: usize = 15;
const RANGE_BYTES: u64 = 480_103_981_056;
const SECTOR_BYTES: u32 = 512;

fn random_reads() -> Stimulus {
    Stimulus { qd: 32, ..Stimulus::random(OperationWeights::reads_pct(100), 4096, 0..RANGE_BYTES) }
}

fn placed(placement: Placement) -> Stimulus {
    Stimulus { placement, ..random_reads() }
}

fn composite_block_size() -> Stimulus {
    let sizes = [512, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 8192, 16384, 32768, 65536];
    let weights = [4, 1, 1, 1, 1, 1, 1, 67, 10, 7, 3, 3];
    let zone = |weight, range_pct| Zone { weight, range_pct };
    Stimulus {
        block_sizes: sizes
            .into_iter()
            .zip(weights)
            .map(|(bytes, weight)| BlockSize::new(bytes, weight))
            .collect(),
        operations: OperationWeights::reads_pct(40),
        placement: Placement::Zones(vec![zone(50, 5.0), zone(30, 15.0), zone(20, 80.0)]),
        ..random_reads()
    }
}

/// Best times of one I/O, and of making a stream in the first step and in a later one.
struct Costs {
    io_ns: f64,
    first_us: f64,
    later_us: f64,
}

fn costs_of(stimulus: Stimulus) -> Costs {
    let stop = Stop { duration_ns: Some(u64::MAX), ..Stop::default() };
    let step = Step::new(Some(stimulus), stop);
    let stream = &step.streams[0];
    let mut costs = Costs { io_ns: f64::INFINITY, first_us: f64::INFINITY, later_us: f64::INFINITY };
    for _ in 0..REPEATS {
        let mut carried = Carried::new(1, 0);
        let started = Instant::now();
        black_box(IoStream::new(&step, stream, SECTOR_BYTES, 0, &mut carried));
        costs.first_us = costs.first_us.min(started.elapsed().as_nanos() as f64 / 1e3);

        let started = Instant::now();
        let mut ios = IoStream::new(&step, stream, SECTOR_BYTES, 0, &mut carried);
        costs.later_us = costs.later_us.min(started.elapsed().as_nanos() as f64 / 1e3);

        let started = Instant::now();
        for _ in 0..IOS {
            black_box(ios.next());
        }
        costs.io_ns = costs.io_ns.min(started.elapsed().as_nanos() as f64 / f64::from(IOS));
    }
    costs
}

fn main() {
    println!("{:40} {:>10} {:>15} {:>15}", "stimulus", "ns per I/O", "us, first step", "us, later step");
    let mixed = OperationWeights::reads_pct(65);
    for (name, stimulus) in [
        ("4 KiB random read", random_reads()),
        ("4 KiB random 65/35", Stimulus { operations: mixed, ..random_reads() }),
        ("4 KiB sequential read", Stimulus { random_pct: 0, ..random_reads() }),
        ("4 KiB half random", Stimulus { random_pct: 50, ..random_reads() }),
        ("composite block size, 3 zones, 40/60", composite_block_size()),
        ("zipf 0.99", placed(Placement::Zipf { theta: 0.99 })),
        ("pareto 20 %", placed(Placement::Pareto { h: 0.2 })),
        ("normal 50 % +- 10 %", placed(Placement::Normal { mean_pct: 50.0, deviation_pct: 10.0 })),
        ("2048 segments of 1 MiB", placed(Placement::Segments { count: 2048, bytes: 1 << 20 })),
        ("65536 segments of 1 MiB", placed(Placement::Segments { count: 65_536, bytes: 1 << 20 })),
        ("16 GiB of unique LBAs", placed(Placement::UniqueLbas { bytes: 16 << 30 })),
    ] {
        let Costs { io_ns, first_us, later_us } = costs_of(stimulus);
        println!("{name:40} {io_ns:10.1} {first_us:15.1} {later_us:15.1}");
    }
}

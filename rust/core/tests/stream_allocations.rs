//! Deciding on the next I/O takes no memory, whatever the stimulus: an allocation could wait for a lock
//! that another thread holds.

use openpts_core::workload::{
    BlockSize, Carried, IoStream, OperationWeights, Placement, Step, Stimulus, Stop, Zone,
};

fn step(placement: Placement, random_pct: u8) -> Step {
    let operations = OperationWeights { read: 3, write: 2, trim: 1, flush: 1, fsync: 1 };
    let stimulus = Stimulus {
        block_sizes: [512, 4096, 65536].map(|bytes| BlockSize::new(bytes, bytes / 512)).to_vec(),
        random_pct,
        placement,
        ..Stimulus::random(operations, 4096, 0..1 << 30)
    };
    Step::new(Some(stimulus), Stop { duration_ns: Some(1), ..Stop::default() })
}

#[test]
fn no_io_takes_memory() {
    let zone = |weight, range_pct| Zone { weight, range_pct };
    for (placement, random_pct) in [
        (Placement::Uniform, 100),
        (Placement::Uniform, 0),
        (Placement::Uniform, 35),
        (Placement::Zones(vec![zone(50, 5.0), zone(30, 15.0), zone(20, 80.0)]), 100),
        (Placement::Zipf { theta: 0.99 }, 100),
        (Placement::Pareto { h: 0.2 }, 100),
        (Placement::Normal { mean_pct: 50.0, deviation_pct: 10.0 }, 100),
        (Placement::Segments { count: 100, bytes: 1 << 20 }, 100),
        (Placement::UniqueLbas { bytes: 1 << 24 }, 100),
    ] {
        let step = step(placement, random_pct);
        let stream = &step.streams[0];
        let mut carried = Carried::new(1, 0);
        let made = allocation_counter::measure(|| drop(IoStream::new(&step, stream, 512, 0, &mut carried)));
        assert!(made.count_total > 0, "the counter counts");
        let mut ios = IoStream::new(&step, stream, 512, 0, &mut carried);
        let mut length_bytes = 0;
        let taken = allocation_counter::measure(|| {
            length_bytes += ios.by_ref().take(10_000).map(|io| u64::from(io.length_bytes)).sum::<u64>();
        });
        assert!(length_bytes > 0);
        assert_eq!(taken.count_total, 0, "{:?}", stream.stimulus.placement);
    }
}

//! What the check lets through can be issued: every I/O lies inside the active range and on sectors, and
//! planned moments never go back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use openpts_core::workload::{Arrivals, Carried, IoStream, Limits, Step, Stream, parse_program};

const IOS: usize = 1000;
const LIMITS: Limits =
    Limits { capacity_bytes: 1 << 40, sector_bytes: 512, tc: 64, qd: 1024, block_size_bytes: 1 << 24 };

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(program) = parse_program(text, &LIMITS) else { return };
    for thread in [0, 1, LIMITS.tc - 1] {
        let mut carried = Carried::new(1, thread);
        for step in &program {
            if let Some((number, thread)) = step.part_of(thread) {
                pull(step, &step.streams[number], thread, &mut carried);
            }
        }
    }
});

fn pull(step: &Step, stream: &Stream, thread: u32, carried: &mut Carried) {
    let stimulus = &stream.stimulus;
    let sector = u64::from(LIMITS.sector_bytes);
    let mut ios = IoStream::new(step, stream, LIMITS.sector_bytes, thread, carried);
    for io in ios.by_ref().take(IOS) {
        let length = u64::from(io.length_bytes);
        if io.operation.is_addressed() {
            assert!(length > 0 && length.is_multiple_of(sector), "{io:?} of {stimulus:?}");
            assert!(io.offset_bytes.is_multiple_of(sector), "{io:?} of {stimulus:?}");
            assert!(io.offset_bytes >= stimulus.range_start_bytes, "{io:?} of {stimulus:?}");
            assert!(io.offset_bytes + length <= stimulus.range_end_bytes, "{io:?} of {stimulus:?}");
        } else {
            assert_eq!((io.offset_bytes, length), (0, 0));
        }
    }
    if let Some(mut arrivals) = Arrivals::new(stimulus.pacing, stimulus.tc, thread) {
        let moments: Vec<_> = (0..IOS).map(|_| arrivals.next_ns(ios.random())).collect();
        assert!(moments.is_sorted(), "{:?}", stimulus.pacing);
    }
}

//! The figures of traces that were made so that each is known.

use openpts_trace::{Depth, FigureTally, Figures, Moved, TracedIo, TracedOperation};

use TracedOperation::{Flush, Read, Trim, Write, ZoneAppend};

const KIB: u64 = 1024;

fn figures(ios: impl IntoIterator<Item = TracedIo>) -> Figures {
    let mut tally = FigureTally::default();
    ios.into_iter().for_each(|io| tally.push(&io).unwrap());
    tally.finish()
}

fn io(at_ms: i64, operation: TracedOperation, offset: u64, length: u64) -> TracedIo {
    TracedIo::new(at_ms * 1_000_000, operation, offset, length, 1)
}

#[test]
fn operations_sizes_span_and_the_busiest_second() {
    let found = figures([
        io(500, Read, 0, 4096),
        io(600, Read, 8192, 4096),
        io(700, ZoneAppend, 1 << 20, 8192),
        io(2400, Trim, 0, 1 << 30),
        io(2500, Flush, 0, 0),
        io(4500, Write, 1 << 21, 4096),
    ]);
    let moved = |ios, bytes| Moved { ios, bytes };
    let expected = [
        ("flush", moved(1, 0)),
        ("read", moved(2, 8192)),
        ("trim", moved(1, 1 << 30)),
        ("write", moved(2, 12288)),
    ];
    assert_eq!(found.operations, expected.into());
    assert_eq!(found.sizes, [(4096, 3), (8192, 1)]);
    // from 500 ms on: three in the first second, two in the second, one in the fifth
    assert_eq!((found.span_ns, found.most_in_a_second), (4_000_000_000, 3));
    assert_eq!(found.depth, None);
}

#[test]
fn runs_side_by_side_are_sequential_each() {
    // two readers in turns, and a writer that jumps; the first I/O of a run continues none
    let ios = (0..10).flat_map(|n| {
        [
            io(n, Read, n as u64 * 4096, 4096),
            io(n, Read, (1 << 30) + n as u64 * 4096, 4096),
            io(n, Write, n as u64 * 7 * 4096, 4096),
        ]
    });
    let found = figures(ios);
    assert_eq!(found.sequential, [("read", 18.0 / 20.0), ("write", 0.0)].into());
}

#[test]
fn the_33rd_run_pushes_out_the_one_longest_without_an_io() {
    let runs = |count: u64| {
        let round = move |n: u64| (0..count).map(move |run| io(0, Read, (run << 30) + n * 4096, 4096));
        figures((0..4).flat_map(round)).sequential["read"]
    };
    assert_eq!((runs(32), runs(33)), (0.75, 0.0));
}

#[test]
fn depth_is_weighted_by_time_until_the_last_completion() {
    let with = |at_ms: i64, to_ms: i64| TracedIo {
        completed_ns: Some(to_ms * 1_000_000),
        ..io(at_ms, Read, 0, 4096)
    };
    // 1 for 2 ms, 2 for 2 ms, 1 for 6 ms, none for 10 ms, 1 for 5 ms
    let found = figures([with(0, 4), with(2, 10), with(20, 25)]);
    assert_eq!(found.depth, Some(Depth { mean: (2.0 + 4.0 + 6.0 + 5.0) / 25.0, max: 2 }));
}

#[test]
fn the_footprint_counts_each_block_once_and_the_hottest_per_cent_in_part() {
    // 200 blocks of which two get 101 accesses each, and the others one; one I/O lies across two blocks
    let cold = (0..199).map(|block| io(0, Write, block * 4 * KIB, 4 * KIB));
    let hot = (0..100).map(|_| io(1, Read, 2 * KIB, 4 * KIB));
    let found = figures(cold.chain(hot).chain([io(2, Read, 199 * 4 * KIB, 512)]));
    assert_eq!((found.footprint_bytes, found.footprint_error), (200 * 4 * KIB, 0.0));
    let hottest = found.hottest_share.unwrap();
    assert!((hottest - 202.0 / 400.0).abs() < 1e-12, "{hottest}");
}

#[test]
fn many_blocks_are_sampled_within_the_error_that_is_given() {
    let blocks = 3 << 20;
    let found = figures((0..blocks).map(|block| io(0, Read, block * 4 * KIB, 4 * KIB)));
    let off = (found.footprint_bytes as f64 / (blocks * 4 * KIB) as f64 - 1.0).abs();
    assert!(found.footprint_error > 0.0 && off < found.footprint_error, "{off}");
}

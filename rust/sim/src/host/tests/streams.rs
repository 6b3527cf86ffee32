//! Several streams in one step against what they must do to the nanosecond.

use openpts_core::engine::{EndedBy, StreamResult};
use openpts_core::workload::{Bounds, Cap, CapUnit, Operation, Pacing, Step, Stimulus, Stop, Stream};

use super::super::testing::*;

fn together(streams: Vec<Stream>, stop: Stop) -> Step {
    Step { streams, ..Step::new(None, stop) }
}

fn ios(stream: &StreamResult) -> u64 {
    stream.operations.iter().map(|(_, of)| of.ios).sum()
}

#[test]
fn each_stream_has_its_own_pacing_and_its_own_counts() {
    let setup = open(Servers::new(64));
    let rate = Pacing::FixedRate { ios_per_s: 10_000.0 };
    let streams = vec![
        Stream::new(reads(2, 2)),
        Stream::new(Stimulus { pacing: rate, ..random(1, 4, Operation::Write) }),
        Stream::new(paced(1, 1, Pacing::ThinkTime { think_ns: 150_000 })),
    ];
    let (cell, intervals) = setup.run(vec![together(streams, lasting(50 * MS))]).remove(0);
    // 64 servers of 100 us: four always outstanding; one each 100 us; one each 250 us.
    assert_eq!(cell.streams.iter().map(ios).collect::<Vec<_>>(), [4 * 500, 500, 200]);
    assert_eq!(total(&cell).ios, 2_700);
    assert_eq!(cell.streams[1].operations.of(Operation::Write).ios, 500);
    assert!(cell.streams.iter().all(|stream| stream.elapsed_ns == 50 * MS));
    for number in 0..3 {
        let parts =
            intervals.iter().flat_map(|interval| interval.streams[number].iter().map(|(_, of)| of.ios));
        assert_eq!(parts.sum::<u64>(), ios(&cell.streams[number]));
    }
}

#[test]
fn delay_and_bounds_are_exact() {
    let setup = open(Servers::new(64));
    let bounded = |bounds| Stream { bounds, delay_ns: 10 * MS, ..Stream::new(reads(1, 1)) };
    let streams = vec![
        Stream::new(reads(1, 1)),
        bounded(Bounds { duration_ns: Some(20 * MS), ..Bounds::NONE }),
        bounded(Bounds { ios: Some(30), ..Bounds::NONE }),
        bounded(Bounds::NONE),
    ];
    let cell = setup.run_one(together(streams, lasting(50 * MS)));
    assert_eq!(cell.streams.iter().map(ios).collect::<Vec<_>>(), [500, 200, 30, 400]);
    let [whole, timed, counted, late] = &*cell.streams else { panic!("four") };
    assert_eq!((whole.ended_by, whole.elapsed_ns), (Some(EndedBy::Duration), 50 * MS));
    assert_eq!(timed.started_ns - cell.started_ns, 10 * MS);
    assert_eq!((timed.ended_by, timed.elapsed_ns), (Some(EndedBy::Duration), 20 * MS));
    assert_eq!((counted.ended_by, counted.elapsed_ns), (Some(EndedBy::Amount), 3 * MS));
    assert_eq!((late.ended_by, late.elapsed_ns), (Some(EndedBy::Duration), 40 * MS));
    assert_eq!((cell.ended_by, cell.elapsed_ns), (Some(EndedBy::Duration), 50 * MS));
}

#[test]
fn a_step_ends_with_the_last_of_its_streams() {
    let setup = open(Servers::new(64));
    let lasts = |ms| Stream {
        bounds: Bounds { duration_ns: Some(ms * MS), ..Bounds::NONE },
        ..Stream::new(paced(1, 1, Pacing::FixedRate { ios_per_s: 1_000.0 }))
    };
    let cell = setup.run_one(together(vec![lasts(5), lasts(20)], Stop::default()));
    assert_eq!(cell.streams.iter().map(ios).collect::<Vec<_>>(), [5, 20]);
    assert_eq!((cell.elapsed_ns, cell.ended_by), (20 * MS, Some(EndedBy::Duration)));
}

#[test]
fn a_cap_of_bytes_counts_bytes_and_one_of_ios_counts_ios() {
    let setup = open(Servers::new(64));
    let capped = |per_s, unit| Stream::new(paced(2, 4, Pacing::Capped(Cap { per_s, unit })));
    let streams = vec![capped(4_000.0, CapUnit::Ios), capped(4096.0 * 8_000.0, CapUnit::Bytes)];
    let cell = setup.run_one(together(streams, lasting(50 * MS)));
    assert_eq!(cell.streams.iter().map(ios).collect::<Vec<_>>(), [200, 400]);
    assert_eq!(total(&cell).latency_max_ns, Some(SERVICE_NS));
}

#[test]
fn a_cap_that_the_drive_cannot_reach_is_a_closed_loop() {
    let setup = open(Servers::new(1));
    let capped = paced(1, 4, Pacing::Capped(Cap { per_s: 1e6, unit: CapUnit::Ios }));
    let cell = setup.run_one(step(capped, lasting(10 * MS)));
    assert_eq!(total(&cell).ios, 100 + 3, "the three outstanding at the end count, with their time");
}

#[test]
fn a_batch_is_answered_before_the_rest_begins() {
    // Five by a queue of two: three rounds of 100 us, then 700 us of rest: a batch a millisecond.
    let setup = open(Servers::new(64));
    let batches = paced(1, 2, Pacing::Batches { ios: 5, rest_ns: 700_000, cap: None });
    let cell = setup.run_one(step(batches, lasting(10 * MS)));
    assert_eq!(total(&cell).ios, 50);
    let submitted = setup.submissions_ns();
    assert_eq!(submitted[..6], [0, 0, 100_000, 100_000, 200_000, 1_000_000]);
}

#[test]
fn what_a_rest_delays_is_caught_up_with_the_cap() {
    // 5,000 a second are due at 200 us each; ten of them rest for 3 ms, and the next ten are late at once.
    let setup = open(Servers::new(64));
    let cap = Some(Cap { per_s: 5_000.0, unit: CapUnit::Ios });
    let batches = paced(1, 1, Pacing::Batches { ios: 10, rest_ns: 3_000_000, cap });
    let cell = setup.run_one(step(batches, lasting(50 * MS)));
    let submitted = setup.submissions_ns();
    assert_eq!(submitted[..3], [0, 200_000, 400_000]);
    // The tenth is answered at 1,900 us; those until 4,900 us are overdue, each a service time behind the other.
    assert_eq!(submitted[10..13], [4_900_000, 5_000_000, 5_100_000]);
    // Ten each 4 ms is half of the cap, which is never caught up: one batch until 4.9 ms, twelve behind it.
    assert_eq!(total(&cell).ios, 130);
}

#[test]
fn shares_hold_a_fast_stream_back() {
    // Alone each would have as many as it has slots: 2:8, and as late as the writes.
    let setup = open(Servers::new(64));
    let share = |share, stimulus| Stream { share, ..Stream::new(stimulus) };
    for shares in [[1, 1], [30, 10], [7, 3], [1, 50]] {
        let streams = vec![share(shares[0], reads(1, 2)), share(shares[1], random(2, 4, Operation::Write))];
        let cell = setup.run_one(together(streams, lasting(400 * MS)));
        let [left, right] = [ios(&cell.streams[0]), ios(&cell.streams[1])];
        let wanted = f64::from(shares[0]) / f64::from(shares[1]);
        let ratio = left as f64 / right as f64;
        assert!((ratio / wanted - 1.0).abs() < 0.01, "{left} to {right}, not {shares:?}");
        let alone = [2.0, 8.0].map(|slots| slots * 4_000.0);
        let most = (alone[0] / f64::from(shares[0])).min(alone[1] / f64::from(shares[1]));
        let done = left as f64 / f64::from(shares[0]);
        assert!((done / most - 1.0).abs() < 0.01, "{done} of {most} rounds: one of them is not held back");
    }
}

#[test]
fn a_stream_without_a_share_goes_its_own_way() {
    let setup = open(Servers::new(64));
    let share = |share, stimulus| Stream { share, ..Stream::new(stimulus) };
    let streams =
        vec![share(1, reads(1, 1)), share(4, reads(1, 2)), share(0, reads(1, 3)), share(0, reads(2, 1))];
    let cell = setup.run_one(together(streams, lasting(100 * MS)));
    let done: Vec<_> = cell.streams.iter().map(ios).collect();
    assert_eq!((done[2], done[3]), (3_000, 2_000));
    assert!(done[1].abs_diff(2_000) <= 2 && done[0].abs_diff(500) <= 5, "{done:?}");
}

#[test]
fn a_stream_with_a_share_waits_for_those_that_run() {
    let setup = open(Servers::new(64));
    let share = |share, stimulus| Stream { share, ..Stream::new(stimulus) };
    let bounded = |bounds| Stream { bounds, ..share(1, reads(1, 1)) };
    let whole = || share(4, reads(1, 16));
    // 20 ms at a quarter of the other's I/Os, 30 ms on its own: 16 in 100 us.
    let counted = bounded(Bounds { ios: Some(200), ..Bounds::NONE });
    let timed = bounded(Bounds { duration_ns: Some(20 * MS), ..Bounds::NONE });
    let late = Stream { delay_ns: 30 * MS, ..share(1, reads(1, 1)) };
    for (stream, expected) in [(counted, 200), (timed, 200), (late, 200)] {
        let cell = setup.run_one(together(vec![stream, whole()], lasting(50 * MS)));
        let [part, whole] = [ios(&cell.streams[0]), ios(&cell.streams[1])];
        assert_eq!(part, expected);
        assert!(whole.abs_diff(4 * 200 + 16 * 300) < 60, "{whole}");
    }
}

#[test]
fn shares_and_rates_hold_together() {
    let setup = open(Servers::new(64));
    let capped = paced(2, 4, Pacing::Capped(Cap { per_s: 10_000.0, unit: CapUnit::Ios }));
    let streams = vec![
        Stream { share: 1, ..Stream::new(capped) },
        Stream { share: 2, ..Stream::new(random(1, 8, Operation::Write)) },
    ];
    let cell = setup.run_one(together(streams, lasting(100 * MS)));
    let done: Vec<_> = cell.streams.iter().map(ios).collect();
    assert_eq!(done[0], 1_000);
    assert!(done[1].abs_diff(2_000) <= 20, "{done:?}");
}

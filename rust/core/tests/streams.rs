//! Several streams in one step: each has its own stimulus, pacing, time and counts.

mod support;

use openpts_core::engine::{EndedBy, StepResult, StepState, StreamResult};
use openpts_core::histogram;
use openpts_core::machine::IoPath;
use openpts_core::workload::{
    Bounds, Cap, CapUnit, Operation, OperationWeights, Pacing, Step, Stimulus, Stop, Stream,
};
use support::{CAPACITY, milliseconds, next, on_path, scratch};

fn stimulus(read_pct: u32, block_size_bytes: u32, tc: u32, qd: u32) -> Stimulus {
    let random = Stimulus::random(OperationWeights::reads_pct(read_pct), block_size_bytes, 0..CAPACITY);
    Stimulus { tc, qd, ..random }
}

fn step(streams: Vec<Stream>, stop: Stop) -> Step {
    Step { streams, ..Step::new(None, stop) }
}

fn run(path: IoPath, tc: u32, qd: u32, step: Step) -> StepResult {
    let session = on_path(&scratch(), path, tc, qd);
    session.submit(vec![step]).unwrap();
    let (result, intervals) = next(&session);
    assert_eq!(result.state, StepState::Complete, "{:?}", result.failure);
    for operation in [Operation::Read, Operation::Write] {
        for (number, stream) in result.streams.iter().enumerate() {
            let parts = intervals.iter().map(|interval| interval.streams[number].of(operation).ios);
            assert_eq!(parts.sum::<u64>(), stream.operations.of(operation).ios);
        }
    }
    result
}

fn ios(stream: &StreamResult, operation: Operation) -> u64 {
    stream.operations.of(operation).ios
}

#[test]
fn each_stream_does_what_it_was_given_and_all_together_are_the_step() {
    for path in [IoPath::Uring, IoPath::Synchronous, IoPath::NoOp] {
        let streams = [stimulus(100, 4096, 2, 4), stimulus(0, 16384, 1, 2), stimulus(50, 512, 1, 1)];
        let result = run(path, 4, 4, step(streams.map(Stream::new).into(), milliseconds(100)));
        let [reads, writes, both] = &*result.streams else { panic!("three streams") };
        assert!(ios(reads, Operation::Read) > 0 && ios(reads, Operation::Write) == 0);
        assert!(ios(writes, Operation::Write) > 0 && ios(writes, Operation::Read) == 0);
        assert!(ios(both, Operation::Write).abs_diff(ios(both, Operation::Read)) <= 100);
        assert_eq!(writes.operations.of(Operation::Write).bytes, 16384 * ios(writes, Operation::Write));
        for operation in [Operation::Read, Operation::Write] {
            let whole = result.operations.of(operation);
            assert_eq!(result.streams.iter().map(|stream| ios(stream, operation)).sum::<u64>(), whole.ios);
            let mut together = histogram::LatencyHistogram::default();
            for stream in &result.streams {
                let encoded = &stream.operations.of(operation).histogram;
                if !encoded.is_empty() {
                    together.add(&histogram::decode(encoded).unwrap());
                }
            }
            assert_eq!(histogram::encode(&together), whole.histogram, "merged to the bit");
        }
        assert!(result.streams.iter().all(|stream| stream.ended_by == Some(EndedBy::Duration)));
    }
}

#[test]
fn a_stream_begins_after_its_delay_and_ends_within_its_bounds() {
    let late = Stream { delay_ns: 60_000_000, ..Stream::new(stimulus(100, 4096, 1, 1)) };
    let counted =
        Stream { bounds: Bounds { ios: Some(100), ..Bounds::NONE }, ..Stream::new(stimulus(0, 4096, 1, 4)) };
    let timed = Stream {
        bounds: Bounds { duration_ns: Some(20_000_000), ..Bounds::NONE },
        delay_ns: 30_000_000,
        ..Stream::new(stimulus(0, 512, 1, 1))
    };
    let result = run(IoPath::Uring, 3, 4, step(vec![late, counted, timed], milliseconds(100)));
    let [late, counted, timed] = &*result.streams else { panic!("three streams") };
    // The step starts with its first thread, which may be late on a busy machine; delays count from its release.
    assert!(late.started_ns - result.started_ns >= 30_000_000, "{}", late.started_ns - result.started_ns);
    assert!(late.started_ns + late.elapsed_ns <= result.started_ns + result.elapsed_ns);
    assert_eq!((ios(counted, Operation::Write), counted.ended_by), (100, Some(EndedBy::Amount)));
    assert_eq!(timed.ended_by, Some(EndedBy::Duration));
    assert!((20_000_000..1_000_000_000).contains(&timed.elapsed_ns), "{}", timed.elapsed_ns);
}

#[test]
fn a_step_ends_with_its_last_stream() {
    let bounded = |ios| Stream {
        bounds: Bounds { ios: Some(ios), ..Bounds::NONE },
        ..Stream::new(stimulus(100, 4096, 1, 2))
    };
    let result = run(IoPath::Uring, 2, 2, step(vec![bounded(7), bounded(500)], Stop::default()));
    assert_eq!(result.operations.of(Operation::Read).ios, 507);
    assert_eq!(result.ended_by, Some(EndedBy::Amount));
}

#[test]
fn a_cap_is_not_exceeded_and_nearly_reached() {
    for (unit, per_s, block) in [(CapUnit::Ios, 2_000.0, 4096), (CapUnit::Bytes, 2_000.0 * 8192.0, 8192)] {
        let pacing = Pacing::Capped(Cap { per_s, unit });
        let capped = Stream::new(Stimulus { pacing, ..stimulus(100, block, 2, 4) });
        let free = Stream::new(stimulus(0, 4096, 1, 1));
        let result = run(IoPath::Uring, 3, 4, step(vec![capped, free], milliseconds(500)));
        let done = ios(&result.streams[0], Operation::Read);
        assert!((850..=1_004).contains(&done), "{done} of 1000");
        assert!(result.streams[0].slips.is_empty(), "nothing was planned");
    }
}

#[test]
fn planned_ios_say_how_late_they_were() {
    let pacing = Pacing::FixedRate { ios_per_s: 2_000.0 };
    let paced = Stream::new(Stimulus { pacing, ..stimulus(100, 4096, 1, 8) });
    let result =
        run(IoPath::Uring, 2, 8, step(vec![paced, Stream::new(stimulus(100, 512, 1, 1))], milliseconds(200)));
    let [paced, free] = &*result.streams else { panic!("two streams") };
    let slips = histogram::decode(&paced.slips).unwrap();
    assert_eq!(slips.count(), ios(paced, Operation::Read));
    assert!(free.slips.is_empty());
    assert_eq!(result.slips, paced.slips);
}

#[test]
fn a_thread_rests_after_each_batch_when_all_of_it_is_answered() {
    let pacing = Pacing::Batches { ios: 5, rest_ns: 20_000_000, cap: None };
    let batches = Step::new(Some(Stimulus { pacing, ..stimulus(100, 4096, 1, 2) }), milliseconds(210));
    let session = on_path(&scratch(), IoPath::Uring, 1, 2);
    session.submit(vec![batches]).unwrap();
    let (result, _) = next(&session);
    let done = result.operations.of(Operation::Read).ios;
    assert!(done.is_multiple_of(5) && (10..=55).contains(&done), "{done}");
}

#[test]
fn a_priority_that_the_kernel_does_not_know_fails_the_step_by_name() {
    let strange = Stream { priority: 7 << 13, ..Stream::new(stimulus(100, 4096, 1, 1)) };
    let session = on_path(&scratch(), IoPath::Uring, 1, 1);
    session.submit(vec![step(vec![strange], milliseconds(50))]).unwrap();
    let (result, _) = next(&session);
    assert_eq!(result.state, StepState::Failed);
    let reason = result.failure.unwrap().reason;
    assert!(reason.starts_with("can't set the I/O priority"), "{reason}");
}

#[test]
fn shares_keep_their_ratio_whichever_is_faster() {
    let share = |share, stimulus| Stream { share, ..Stream::new(stimulus) };
    for path in [IoPath::Uring, IoPath::NoOp] {
        let streams = vec![share(3, stimulus(100, 512, 2, 4)), share(1, stimulus(0, 65536, 1, 1))];
        let result = run(path, 3, 4, step(streams, milliseconds(300)));
        let [fast, slow] = &*result.streams else { panic!("two streams") };
        let (fast, slow) = (ios(fast, Operation::Read), ios(slow, Operation::Write));
        // A round and its hundredth, and what the threads of one stream issue at once.
        assert!(slow > 10 && fast.abs_diff(3 * slow) <= 3 * slow / 100 + 12, "{fast} to {slow}");
    }
}

#[test]
fn a_stream_whose_partner_has_ended_goes_on() {
    let counted = Stream {
        bounds: Bounds { ios: Some(50), ..Bounds::NONE },
        share: 1,
        ..Stream::new(stimulus(0, 4096, 1, 1))
    };
    let late = Stream { delay_ns: 20_000_000, share: 1, ..Stream::new(stimulus(100, 512, 1, 1)) };
    let free = Stream {
        bounds: Bounds { ios: Some(5_000), ..Bounds::NONE },
        share: 1,
        ..Stream::new(stimulus(100, 4096, 2, 2))
    };
    let late = Stream { bounds: Bounds { ios: Some(20), ..Bounds::NONE }, ..late };
    let result = run(IoPath::Uring, 4, 2, step(vec![counted, late, free], Stop::default()));
    let done: Vec<_> =
        result.streams.iter().map(|one| ios(one, Operation::Read) + ios(one, Operation::Write)).collect();
    assert_eq!(done, [50, 20, 5_000]);
}

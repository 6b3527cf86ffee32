//! Schedules on real targets: order, content, times, what is refused.

mod support;

use std::path::Path;
use std::sync::Arc;

use openpts_core::engine::{Session, StepResult, StepState};
use openpts_core::machine::{IoPath, Target};
use openpts_core::workload::{
    Bounds, Conflicts, Mode, Operation, OperationWeights, Replay, ScheduleWriter, ScheduledIo, Step,
    Stimulus, Stop, Stream,
};
use support::counting::Counting;
use support::{CAPACITY, configuration, next, scratch};

fn io(due_ns: u64, operation: Operation, block: u64) -> ScheduledIo {
    let (offset_bytes, length_bytes) = if operation.is_addressed() { (block * 4096, 4096) } else { (0, 0) };
    ScheduledIo::new(due_ns, operation, offset_bytes, length_bytes)
}

fn write_schedule(path: &Path, ios: &[ScheduledIo]) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ScheduleWriter::new(file, 512, false, (1, 1)).unwrap();
    ios.iter().for_each(|io| writer.push(io).unwrap());
    writer.finish().unwrap();
}

fn step(path: &Path, ios: usize, qd: u32, mode: Mode, conflicts: Conflicts) -> Step {
    let operations = OperationWeights { read: 1, write: 1, trim: 1, flush: 1, fsync: 0 };
    let stream = Stream {
        bounds: Bounds { ios: Some(ios as u64), ..Bounds::NONE },
        delay_ns: 50_000_000,
        replay: Some(Replay { path: path.to_owned(), mode, conflicts }),
        ..Stream::new(Stimulus { qd, ..Stimulus::random(operations, 1 << 20, 0..CAPACITY) })
    };
    Step { streams: vec![stream], ..Step::new(None, Stop::default()) }
}

fn replayed(path: IoPath, ios: &[ScheduledIo], qd: u32, mode: Mode, conflicts: Conflicts) -> StepResult {
    let (file, schedule) = (scratch(), tempfile::NamedTempFile::new().unwrap());
    write_schedule(schedule.path(), ios);
    let session = support::on_path(&file, path, 1, qd);
    session.submit(vec![step(schedule.path(), ios.len(), qd, mode, conflicts)]).unwrap();
    let (result, _) = next(&session);
    assert_eq!(result.state, StepState::Complete, "{:?}", result.failure);
    result
}

#[test]
fn a_timed_replay_keeps_its_moments_and_counts_every_io() {
    let kinds = [Operation::Read, Operation::Write, Operation::Flush, Operation::Trim];
    let ios: Vec<_> =
        (0..2_000).map(|number| io(number * 100_000, kinds[number as usize % 4], number % 1024)).collect();
    for path in [IoPath::Uring, IoPath::NoOp] {
        let result = replayed(path, &ios, 16, Mode::Timed, Conflicts::Strict);
        let played = &result.played[0];
        assert_eq!((played.issued, played.dropped, played.early, played.reordered), (2_000, 0, 0, 0));
        assert_eq!(played.slips.count(), 2_000);
        for kind in kinds {
            assert_eq!(result.operations.of(kind).ios, 500);
            assert_eq!(played.due_latencies.of(kind).count(), 500);
        }
        assert!(result.elapsed_ns >= 1_999 * 100_000, "not before the last is due");
        // The bucket around the bound has both late ones and others.
        let above = |bound_ns| {
            let late = played.slips.buckets().filter(|bucket| bucket.lowest_ns > bound_ns);
            late.map(|bucket| bucket.count).sum::<u64>()
        };
        let late: u64 = played.late.iter().sum();
        assert!((above(10_000)..=above(9_980)).contains(&late), "each has a cause: {late}");
    }
}

#[test]
fn as_fast_as_possible_is_faster_than_the_trace_and_in_order() {
    let ios: Vec<_> =
        (0..100_000).map(|number| io(number * 1_000_000, Operation::Read, number % 1024)).collect();
    let result = replayed(IoPath::NoOp, &ios, 32, Mode::Afap, Conflicts::Strict);
    let played = &result.played[0];
    assert_eq!((played.issued, played.reordered, played.slips.count()), (100_000, 0, 0));
    assert!(result.elapsed_ns < 20_000_000_000, "{}", result.elapsed_ns);
    assert!(played.busy_ns <= played.last_answer_ns);
}

#[test]
fn what_is_written_last_in_the_schedule_is_what_is_there() {
    for conflicts in [Conflicts::Strict, Conflicts::PushBack] {
        the_last_write_stays(conflicts);
    }
}

fn the_last_write_stays(conflicts: Conflicts) {
    // Of a thousand writes of the same block, in flight as many as may be, the last one stays.
    let (file, schedule) = (scratch(), tempfile::NamedTempFile::new().unwrap());
    let ios: Vec<_> = (0..1_000)
        .map(|number| ScheduledIo { fua: number % 7 == 0, ..io(number, Operation::Write, number % 2) })
        .collect();
    write_schedule(schedule.path(), &ios);
    let mut wishes = configuration(IoPath::Uring, 1, 16);
    wishes.capture = Some(openpts_core::engine::CaptureOrder { files: Arc::new(Counting), lba_bytes: 512 });
    let target = Target::duplicate(std::os::fd::AsRawFd::as_raw_fd(&file)).unwrap();
    let session = Session::open(target, wishes).unwrap();
    let step = step(schedule.path(), ios.len(), 16, Mode::Timed, conflicts);
    session.submit(vec![Step { capture: true, ..step }]).unwrap();
    let (result, _) = next(&session);
    let played = &result.played[0];
    assert_eq!((result.state, played.issued), (StepState::Complete, 1_000), "{:?}", result.failure);
    let summary = session.finish().unwrap().unwrap();
    assert_eq!(summary.ios_written, 1_000);
    // Never two of a block at once: each waits for the answer to the one before it.
    assert!(played.conflicts > 0, "they were due at the same time");
    let waited = openpts_core::workload::Cause::Order as usize;
    assert!(played.waited_ns[waited] > 0);
}

#[test]
fn threads_that_issue_one_io_each_cannot_keep_an_order() {
    let schedule = tempfile::NamedTempFile::new().unwrap();
    write_schedule(schedule.path(), &[io(0, Operation::Read, 0)]);
    let session = support::on_path(&scratch(), IoPath::Synchronous, 1, 4);
    let refused =
        session.submit(vec![step(schedule.path(), 1, 4, Mode::Timed, Conflicts::Strict)]).unwrap_err();
    assert!(refused.to_string().contains("io_uring"), "{refused}");
}

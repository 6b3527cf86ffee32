//! Schedules in virtual time, where nothing but the drive can make an I/O late.

use std::path::Path;

use openpts_core::engine::{StepResult, StepState};
use openpts_core::histogram;
use openpts_core::workload::{
    Bounds, Cause, Conflicts, Io, Mode, Operation, OperationWeights, Replay, ScheduleWriter, ScheduledIo,
    Step, Stimulus, Stop, Stream, Uniform,
};

use super::super::testing::*;

const HANDLE: Option<u16> = Some(3);

fn read(due_ns: u64, block: u64) -> ScheduledIo {
    ScheduledIo::new(due_ns, Operation::Read, block * 4096, 4096)
}

fn write_schedule(path: &Path, ios: &[ScheduledIo]) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ScheduleWriter::new(file, 512, true, (1, 1)).unwrap();
    ios.iter().for_each(|io| writer.push(io).unwrap());
    writer.finish().unwrap();
}

fn stream(path: &Path, ios: usize, qd: u32, mode: Mode) -> Stream {
    let operations = OperationWeights { read: 1, write: 1, trim: 1, flush: 1, fsync: 0 };
    Stream {
        bounds: Bounds { ios: Some(ios as u64), ..Bounds::NONE },
        replay: Some(Replay { path: path.to_owned(), mode, conflicts: Conflicts::Strict }),
        ..Stream::new(Stimulus {
            qd,
            placement_handle: HANDLE,
            ..Stimulus::random(operations, 4096, 0..CAPACITY)
        })
    }
}

fn replayed(servers: Servers, ios: &[ScheduledIo], qd: u32, mode: Mode) -> (StepResult, Vec<(u64, Io)>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    write_schedule(file.path(), ios);
    let setup = open(servers);
    let streams = vec![stream(file.path(), ios.len(), qd, mode)];
    let result = setup.run_one(Step { streams, ..Step::new(None, Stop::default()) });
    assert_eq!(result.state, StepState::Complete, "{:?}", result.failure);
    let log = setup.log.lock().unwrap().ios.clone();
    (result, log.into_iter().map(|(at_ps, io)| (at_ps / 1000, io)).collect())
}

#[test]
fn every_io_is_submitted_when_it_is_due_and_in_order() {
    let mut random = Uniform::for_thread(3, 0);
    let mut due_ns = 0;
    let mut ios = Vec::new();
    for _ in 0..20_000 {
        due_ns += random.below(20_000);
        let operation = [Operation::Read, Operation::Write, Operation::Trim][random.below(3) as usize];
        ios.push(ScheduledIo { operation, ..read(due_ns, random.below(1024)) });
    }
    // Enough servers and nothing twice at once: no I/O has to wait for another.
    for (index, io) in ios.iter_mut().enumerate() {
        io.offset_bytes = (index as u64 % 1024) * 4096;
    }
    let (result, log) = replayed(Servers::new(64), &ios, 256, Mode::Timed);
    let expected = ios.iter().map(|io| {
        let handle = if io.operation == Operation::Write { HANDLE } else { None };
        (io.due_ns, Io { handle, ..Io::new(io.operation, io.offset_bytes, io.length_bytes) })
    });
    assert_eq!(log, expected.collect::<Vec<_>>());
    let played = &result.played[0];
    assert_eq!(
        (played.issued, played.early, played.reordered, played.slips.max_ns()),
        (20_000, 0, 0, Some(0))
    );
    assert_eq!(played.gap_errors.max_ns(), Some(0));
    assert_eq!(total(&result).ios, 20_000);
    let again = replayed(Servers::new(64), &ios, 256, Mode::Timed);
    assert_eq!(log, again.1, "equal to the bit");
}

#[test]
fn a_million_at_a_fraction_of_a_microsecond_do_not_drift() {
    let ios: Vec<_> = (0..1_000_000).map(|number| read(number * 10_500, number % 1024)).collect();
    let (result, log) = replayed(Servers::new(16), &ios, 256, Mode::Timed);
    assert_eq!(log.last().unwrap().0 - log[0].0, 999_999 * 10_500);
    assert_eq!(result.played[0].slips.max_ns(), Some(0));
}

#[test]
fn a_drive_that_is_too_slow_makes_it_limited_by_depth_and_shows_in_the_users_latency() {
    // 100 us each by one server, due every 50 us: the k-th is answered at 100 (k + 1) us.
    let ios: Vec<_> = (0..100).map(|number| read(number * 50_000, number)).collect();
    let (result, _) = replayed(Servers::new(1), &ios, 2, Mode::Timed);
    let played = &result.played[0];
    assert_eq!(played.late[Cause::Depth as usize], played.late.iter().sum::<u64>());
    assert!(played.late[Cause::Depth as usize] >= 95);
    let due = played.due_latencies.of(Operation::Read);
    assert_eq!(due.max_ns(), Some(100 * 100_000 - 99 * 50_000));
    // From submission, none waits for more than the one before it.
    assert_eq!(total(&result).latency_max_ns, Some(200_000));
    assert_eq!(histogram::decode(&result.operations.of(Operation::Read).histogram).unwrap().count(), 100);
}

#[test]
fn several_schedules_have_one_clock() {
    let files = [tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap()];
    let even: Vec<_> = (0..50).map(|number| read(number * 200_000, number)).collect();
    let odd: Vec<_> = (0..50).map(|number| read(number * 200_000 + 100_000, 512 + number)).collect();
    write_schedule(files[0].path(), &even);
    write_schedule(files[1].path(), &odd);
    let setup = open(Servers::new(4));
    let streams = files.iter().map(|file| {
        let stream = stream(file.path(), 50, 4, Mode::Timed);
        Stream { delay_ns: 7 * MS, ..stream }
    });
    let step = Step { streams: streams.collect(), ..Step::new(None, Stop::default()) };
    let result = setup.run_one(step);
    let expected: Vec<u64> = (0..100).map(|number| 7 * MS + number * 100_000).collect();
    assert_eq!(setup.submissions_ns(), expected);
    assert_eq!(
        result.played.iter().map(|played| (played.stream, played.issued)).collect::<Vec<_>>(),
        [(0, 50), (1, 50)]
    );
    assert_eq!(result.streams.len(), 2);
}

/// An application that reads an index, then four blocks that it names side by side, thinks, and writes what it
/// found: what it does on a drive with this service time, and how long that takes.
fn application(service_ns: u64, rounds: u64) -> (Vec<ScheduledIo>, u64) {
    const THINK_NS: u64 = 30_000;
    let (mut ios, mut now_ns) = (Vec::new(), 0);
    for round in 0..rounds {
        let block = round * 6;
        let first = |slack_ns| if round == 0 { ([0; 4], 0) } else { ([1, 0, 0, 0], slack_ns) };
        let (parents, slack_ns) = first(5_000);
        ios.push(ScheduledIo { parents, slack_ns, ..read(now_ns, block) });
        now_ns += service_ns + 2_000;
        for leaf in 0..4_u32 {
            let parents = [leaf + 1, 0, 0, 0];
            ios.push(ScheduledIo { parents, slack_ns: 2_000, ..read(now_ns, block + 1 + u64::from(leaf)) });
        }
        now_ns += service_ns + THINK_NS;
        let write = ScheduledIo { operation: Operation::Write, ..read(now_ns, block + 5) };
        ios.push(ScheduledIo { parents: [4, 3, 2, 1], slack_ns: THINK_NS, ..write });
        now_ns += service_ns + 5_000;
    }
    (ios, now_ns - 5_000)
}

#[test]
fn dependencies_carry_a_trace_to_a_slower_and_a_faster_drive() {
    let (traced, _) = application(SERVICE_NS, 150);
    for service_ns in [SERVICE_NS * 4, SERVICE_NS / 4] {
        let (_, truth_ns) = application(service_ns, 150);
        let servers = Servers { service_ps: service_ns * 1000, ..Servers::new(8) };
        let (result, log) = replayed(servers, &traced, 64, Mode::Dependent);
        let took_ns = result.played[0].last_answer_ns;
        assert_eq!(log.len(), traced.len());
        assert!(took_ns.abs_diff(truth_ns) * 10 <= truth_ns, "{took_ns} ns, and really {truth_ns} ns");
    }
}

#[test]
fn a_schedule_that_is_damaged_or_does_not_fit_is_refused_or_fails_the_step() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let ios: Vec<_> = (0..10).map(|number| read(number * MS, number)).collect();
    write_schedule(file.path(), &ios);
    let step = |stream: Stream| Step { streams: vec![stream], ..Step::new(None, Stop::default()) };
    let refusal =
        |stream: Stream| open(Servers::new(1)).session.submit(&vec![step(stream)]).unwrap_err().to_string();
    let sound = stream(file.path(), 10, 4, Mode::Timed);
    assert!(refusal(Stream { share: 1, ..sound.clone() }).contains("without share"));
    assert!(refusal(stream(file.path(), 11, 4, Mode::Timed)).contains("10 at most"));
    assert!(refusal(Stream { bounds: Bounds::NONE, ..sound.clone() }).contains("stop"));
    assert!(refusal(stream(Path::new("/nowhere"), 10, 4, Mode::Timed)).contains("/nowhere"));
    let mut small = sound.clone();
    small.stimulus.range_end_bytes = 4096;
    assert!(refusal(small).contains("beyond the range"));
    let mut writes = sound.clone();
    writes.stimulus.operations = OperationWeights::reads_pct(0);
    assert!(refusal(writes).contains("10 I/Os of the kind read"));
    let scaled = open_scaled(Servers::new(1), 2, &configuration());
    assert!(scaled.refusal(step(sound.clone())).contains("own size"));

    let mut bytes = std::fs::read(file.path()).unwrap();
    bytes[128 + 5 * 56 + 30] = 77;
    std::fs::write(file.path(), bytes).unwrap();
    let result = open(Servers::new(1)).run_one(step(sound));
    assert_eq!(result.state, StepState::Failed);
    assert!(result.failure.unwrap().reason.contains("no operation 77"));
}

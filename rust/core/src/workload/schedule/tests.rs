//! A player against a device of which each answer is known, with a clock that the test moves.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};

use proptest::prelude::*;

use super::read_ahead::ReadAhead;
use super::*;
use crate::workload::operation::{Io, Operation};

const MS: u64 = 1_000_000;

fn io(due_ns: u64, operation: Operation, block: u64) -> ScheduledIo {
    let (offset_bytes, length_bytes) = if operation.is_addressed() { (block * 4096, 4096) } else { (0, 0) };
    ScheduledIo::new(due_ns, operation, offset_bytes, length_bytes)
}

fn write(path: &Path, ios: &[ScheduledIo]) -> ScheduleHeader {
    let mut writer = ScheduleWriter::new(File::create(path).unwrap(), 512, true, (1, 1)).unwrap();
    ios.iter().for_each(|io| writer.push(io).unwrap());
    writer.finish().unwrap()
}

fn replay(path: &Path, mode: Mode, conflicts: Conflicts) -> Replay {
    Replay { path: path.to_owned(), mode, conflicts }
}

/// Plays with `slots` on a device that answers each I/O after its `latency_ns`; `wake_ns` says when the thread
/// really wakes that wants to wake at a moment.
struct Stage {
    player: Player,
    slots: usize,
    latency_ns: fn(&Io) -> u64,
    wake_ns: fn(u64) -> u64,
}

impl Stage {
    fn new(ios: &[ScheduledIo], mode: Mode, conflicts: Conflicts) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path(), ios);
        let player = Player::open(&replay(file.path(), mode, conflicts), 0, u64::MAX, true).unwrap();
        Self { player, slots: 64, latency_ns: |_| 100_000, wake_ns: |at_ns| at_ns }
    }

    /// What was submitted when, and how true it was.
    fn run(mut self) -> (Vec<(u64, Io)>, Played) {
        let (mut log, mut flights, mut now_ns) = (Vec::new(), Vec::<(u64, usize)>::new(), 0);
        loop {
            flights.sort_unstable();
            while flights.first().is_some_and(|(at_ns, _)| *at_ns <= now_ns) {
                let (_, slot) = flights.remove(0);
                self.player.answered(slot, now_ns);
            }
            let answer_ns = flights.first().map_or(u64::MAX, |(at_ns, _)| *at_ns);
            let wake_ns = match self.player.cue(now_ns) {
                Cue::Issue(io) => {
                    let taken = |slot: &usize| flights.iter().any(|(_, other)| other == slot);
                    if let Some(slot) = (0..self.slots).find(|slot| !taken(slot)) {
                        self.player.issued(slot);
                        self.player.submitted(now_ns, |_| ());
                        log.push((now_ns, io));
                        flights.push((now_ns + (self.latency_ns)(&io), slot));
                        continue;
                    }
                    self.player.no_room(now_ns);
                    answer_ns
                }
                Cue::At(due_ns, _) => answer_ns.min(due_ns),
                Cue::Answer => answer_ns,
                Cue::Reader => panic!("it is patient"),
                Cue::End if flights.is_empty() => return (log, self.player.take_played()),
                Cue::End => answer_ns,
            };
            now_ns = (self.wake_ns)(wake_ns).max(now_ns);
        }
    }
}

fn late(played: &Played, cause: Cause) -> u64 {
    played.late[cause as usize]
}

#[test]
fn what_is_written_is_read_and_said_of_it() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let last = ScheduledIo { length_bytes: 1 << 31, ..io(9, Operation::Trim, 7) };
    let ios = [
        ScheduledIo { latency_ns: 5, in_flight: 3, fua: true, ..io(0, Operation::Write, 1) },
        ScheduledIo { after_flush: true, slack_ns: 8, parents: [1, 0, 0, 0], ..io(9, Operation::Read, 2) },
        last,
    ];
    let header = write(file.path(), &ios);
    assert_eq!(ScheduleHeader::read(file.path()).unwrap(), header);
    assert_eq!((header.ios, header.span_ns, header.peak_in_flight), (3, 9, 4));
    assert_eq!(header.largest_bytes, 4096, "a trim needs no buffer");
    assert_eq!(header.end_bytes, 7 * 4096 + (1 << 31));
    assert_eq!(header.by_operation, [1, 1, 1, 0, 0]);
    let mut ahead = ReadAhead::open(file.path(), true).unwrap();
    for io in ios {
        assert_eq!(ahead.next_io(), Some(io));
    }
    assert_eq!(ahead.next_io(), None);
}

#[test]
fn what_is_no_schedule_is_refused_and_what_is_damaged_ends_the_replay() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let ios: Vec<_> = (0..10).map(|number| io(number * MS, Operation::Read, number)).collect();
    write(file.path(), &ios);
    let sound = std::fs::read(file.path()).unwrap();
    let refused = |bytes: &[u8]| {
        file.as_file().set_len(0).unwrap();
        File::create(file.path()).unwrap().write_all(bytes).unwrap();
        let replay = replay(file.path(), Mode::Timed, Conflicts::Strict);
        match Player::open(&replay, 0, u64::MAX, true) {
            Err(error) => error.to_string(),
            Ok(mut player) => {
                while !matches!(player.cue(u64::MAX), Cue::End) {
                    player.issued(0);
                    player.submitted(u64::MAX, |_| ());
                    player.answered(0, u64::MAX);
                }
                player.broken().unwrap_or("it was played").to_owned()
            }
        }
    };
    assert_eq!(refused(&sound), "it was played");
    for cut in [0, 20, 127, 128, sound.len() - 1] {
        assert!(refused(&sound[..cut]).contains("damaged"), "{cut}");
    }
    let changed = |at: usize, value: u8| {
        let mut bytes = sound.clone();
        bytes[at] = value;
        bytes
    };
    for (at, value) in [(0, 0), (8, 9), (13, 40), (16, 11), (120, 0)] {
        assert!(refused(&changed(at, value)).contains("damaged"), "byte {at} of the header");
    }
    let record = 128 + 3 * 56;
    // Due moment, offset, length, operation, parent: each would be another I/O, or one beyond the range.
    for (at, value) in [(5, 1), (13, 1), (24, 1), (30, 5), (43, 1)] {
        assert!(refused(&changed(record + at, value)).contains("damaged"), "byte {at} of a record");
    }
}

#[test]
fn a_replay_ends_when_its_last_io_is_due_however_late_one_was() {
    // A million at 10.5 us last 10.5 s less one gap; the thread stands still for 10 ms in between.
    let ios: Vec<_> =
        (0..1_000_000).map(|number| io(number * 10_500, Operation::Read, number % 64)).collect();
    let mut stage = Stage::new(&ios, Mode::Timed, Conflicts::Strict);
    stage.slots = 4096;
    stage.wake_ns = |at_ns| if (MS * 5000..MS * 5010).contains(&at_ns) { MS * 5010 } else { at_ns };
    let (log, played) = stage.run();
    assert_eq!((played.issued, log.last().unwrap().0), (1_000_000, 999_999 * 10_500));
    assert_eq!((played.last_slip_ns, played.early, played.reordered), (0, 0, 0));
    let delayed = log.iter().zip(&ios).filter(|((at_ns, _), io)| *at_ns > io.due_ns).count();
    assert!((940..=953).contains(&delayed), "as many as were due in those 10 ms: {delayed}");
    assert_eq!(played.slips.max_ns(), Some(MS * 5010 - log[476_191].0.min(ios[476_191].due_ns)));
    assert_eq!(late(&played, Cause::Host), played.late.iter().sum::<u64>());
    assert!(late(&played, Cause::Host) >= 940);
}

#[test]
fn lateness_is_put_down_to_what_it_came_from() {
    let burst: Vec<_> = (0..8).map(|number| io(0, Operation::Read, number)).collect();
    let mut stage = Stage::new(&burst, Mode::Timed, Conflicts::Strict);
    stage.slots = 2;
    let (log, played) = stage.run();
    assert_eq!(log.iter().map(|(at_ns, _)| at_ns / 100_000).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!((late(&played, Cause::Depth), played.waited_ns[Cause::Depth as usize]), (6, 300_000));

    // The second waits for the first; the third is not in its way but behind it.
    let same = [io(0, Operation::Write, 1), io(0, Operation::Read, 1), io(50_000, Operation::Read, 9)];
    let (log, played) = Stage::new(&same, Mode::Timed, Conflicts::Strict).run();
    assert_eq!(log.iter().map(|(at_ns, _)| *at_ns).collect::<Vec<_>>(), [0, 100_000, 100_000]);
    assert_eq!((late(&played, Cause::Order), played.conflicts), (2, 1));
    assert_eq!(played.waited_ns[Cause::Order as usize], 100_000);

    let mut slow = Stage::new(
        &[io(0, Operation::Read, 1), io(1_000, Operation::Read, 2)],
        Mode::Timed,
        Conflicts::Strict,
    );
    assert!(matches!(slow.player.cue(0), Cue::Issue(_)));
    slow.player.issued(0);
    slow.player.submitted(0, |_| ());
    slow.player.submission_ended(400_000);
    assert!(matches!(slow.player.cue(400_100), Cue::Issue(_)));
    slow.player.issued(1);
    let mut own_ns = 0;
    slow.player.submitted(400_200, |slip_ns| own_ns = slip_ns);
    assert_eq!((late(&slow.player.take_played(), Cause::Device), own_ns), (1, 200));
}

#[test]
fn a_freeze_is_the_hosts_though_room_is_short_after_it() {
    // Due every 10 us while the thread stands still for 10 ms; then two go at a time, and 50 us pass for each.
    let ios: Vec<_> = (0..1_000).map(|number| io(1 + number * 10_000, Operation::Read, number)).collect();
    let mut stage = Stage::new(&ios, Mode::Timed, Conflicts::Strict);
    stage.slots = 2;
    stage.wake_ns = |at_ns| at_ns.max(10 * MS);
    let (_, played) = stage.run();
    let of = |cause| late(&played, cause) as i64;
    // The one with this number has waited for as long for the thread as for room: 10 ms - 10 us x n = 50 us x n.
    assert!((of(Cause::Host) - 1_000 / 6).abs() < 5, "{:?}", played.late);
    assert_eq!(of(Cause::Host) + of(Cause::Depth), 1_000);
}

#[test]
fn a_reader_that_is_behind_is_waited_for_and_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let ios = [io(0, Operation::Read, 1), io(MS, Operation::Read, 2)];
    let header = write(file.path(), &ios);
    let (chunks_out, chunks): (SyncSender<_>, _) = sync_channel(4);
    let ahead = ReadAhead::of(header, chunks);
    let mut player = Player::on(ahead, &replay(file.path(), Mode::Timed, Conflicts::Strict), 0, u64::MAX);
    assert_eq!(player.cue(0), Cue::Reader);
    assert_eq!(player.cue(2 * MS), Cue::Reader);
    chunks_out.send(Ok(std::fs::read(file.path()).unwrap()[128..].to_vec())).unwrap();
    for slot in 0..2 {
        assert!(matches!(player.cue(3 * MS), Cue::Issue(_)));
        player.issued(slot);
    }
    player.submitted(3 * MS, |_| ());
    let played = player.take_played();
    assert_eq!((late(&played, Cause::Reader), played.waited_ns[Cause::Reader as usize]), (2, 3 * MS));
}

#[test]
fn conflicts_are_what_the_policy_makes_of_them() {
    let ios = [
        io(0, Operation::Read, 1),
        io(0, Operation::Read, 1),
        io(10, Operation::Write, 1),
        io(20, Operation::Trim, 1),
        io(30, Operation::Write, 5),
    ];
    let moments = |conflicts| {
        let (log, played) = Stage::new(&ios, Mode::Timed, conflicts).run();
        (log.iter().map(|(at_ns, _)| *at_ns).collect::<Vec<_>>(), played.conflicts, played.dropped)
    };
    assert_eq!(moments(Conflicts::Allow), (vec![0, 0, 10, 20, 30], 2, 0));
    assert_eq!(moments(Conflicts::Drop), (vec![0, 0, 30], 2, 2));
    assert_eq!(moments(Conflicts::Strict), (vec![0, 0, 100_000, 200_000, 200_000], 2, 0));
    assert_eq!(moments(Conflicts::PushBack), (vec![0, 0, 30, 100_000, 200_000], 2, 0));
}

#[test]
fn what_is_pushed_back_is_late_for_its_order_and_nothing_else_is() {
    let ios = [
        io(0, Operation::Write, 1),
        io(10, Operation::Write, 1),
        io(20, Operation::Read, 2),
        io(150_000, Operation::Read, 1),
        io(160_000, Operation::Read, 3),
    ];
    let (log, played) = Stage::new(&ios, Mode::Timed, Conflicts::PushBack).run();
    let moments: Vec<_> = log.iter().map(|(at_ns, _)| *at_ns).collect();
    assert_eq!(moments, [0, 20, 100_000, 160_000, 200_000]);
    assert_eq!((late(&played, Cause::Order), played.late.iter().sum::<u64>(), played.reordered), (2, 2, 2));
    assert_eq!(played.waited_ns[Cause::Order as usize], (100_000 - 10) + (200_000 - 150_000));
}

#[test]
fn writes_name_the_placement_handle_and_nothing_else_does() {
    let ios = [
        io(0, Operation::Write, 1),
        io(10, Operation::Write, 1), // which is pushed back
        io(20, Operation::Read, 2),
        io(30, Operation::Trim, 3),
        io(40, Operation::Flush, 0),
    ];
    let mut stage = Stage::new(&ios, Mode::Timed, Conflicts::PushBack);
    stage.player = stage.player.with_handle(Some(7));
    let (log, played) = stage.run();
    assert_eq!((log.len(), played.conflicts), (5, 1));
    for (_, io) in log {
        assert_eq!(io.handle, (io.operation == Operation::Write).then_some(7), "{io:?}");
    }
}

#[test]
fn no_more_than_so_many_are_pushed_back() {
    let mut ios: Vec<_> = (0..300).map(|_| io(0, Operation::Write, 1)).collect();
    ios.push(io(0, Operation::Read, 2));
    let (log, played) = Stage::new(&ios, Mode::Timed, Conflicts::PushBack).run();
    let read_ns = log.iter().find(|(_, io)| io.operation == Operation::Read).unwrap().0;
    // 256 wait besides the one in flight; the read is looked at once all 300 are among them or done.
    assert_eq!((read_ns, log.len()), ((300 - 1 - 256) * 100_000, 301));
    assert_eq!(played.conflicts, 299);
}

#[test]
fn a_flush_waits_for_the_writes_that_were_complete_before_it() {
    let traced = |due_ns, latency_ns| ScheduledIo { latency_ns, ..io(due_ns, Operation::Write, due_ns) };
    let flush = io(50, Operation::Flush, 0);
    let after = ScheduledIo { after_flush: true, ..io(50, Operation::Write, 90) };
    // Not known to be complete, complete, and complete after the flush was issued.
    for (write, flushed_ns) in
        [(traced(0, UNKNOWN_LATENCY), 100_000), (traced(0, 40), 100_000), (traced(0, 60), 50)]
    {
        let (log, _) = Stage::new(&[write, flush, after], Mode::Timed, Conflicts::Allow).run();
        assert_eq!((log[1].0, log[2].0), (flushed_ns, flushed_ns + 100_000), "{write:?}");
    }
}

#[test]
fn as_fast_as_possible_keeps_order_and_depth() {
    let ios: Vec<_> = (0..100).map(|number| io(number * 1000 * MS, Operation::Read, number)).collect();
    let mut stage = Stage::new(&ios, Mode::Afap, Conflicts::Strict);
    stage.slots = 4;
    let (log, played) = stage.run();
    assert_eq!(log.last().unwrap().0, 24 * 100_000);
    assert!(log.iter().zip(&ios).all(|((_, done), io)| done.offset_bytes == io.offset_bytes));
    assert_eq!((played.slips.count(), played.busy_ns, played.last_answer_ns), (0, 2_500_000, 2_500_000));
}

#[test]
fn load_never_exceeds_what_was_in_flight() {
    let depths = [0, 1, 2, 3, 0, 1, 5, 5];
    let ios: Vec<_> = (0..)
        .zip(depths)
        .map(|(number, in_flight)| ScheduledIo { in_flight, latency_ns: 1, ..io(0, Operation::Read, number) })
        .collect();
    let (log, played) = Stage::new(&ios, Mode::Load, Conflicts::Strict).run();
    let moments: Vec<_> = log.iter().map(|(at_ns, _)| at_ns / 100_000).collect();
    assert_eq!(moments, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!((played.in_flight.ios, played.in_flight.traced), (8, 17.0));
}

#[test]
fn a_child_is_due_its_slack_after_its_last_parent() {
    let child =
        |due_ns, slack_ns, parents| ScheduledIo { slack_ns, parents, ..io(due_ns, Operation::Read, due_ns) };
    let ios = [
        child(0, 0, [0; 4]),
        child(5, 0, [0; 4]),
        child(1_000, 700, [1, 2, 0, 0]),
        child(2_000, 0, [1, 0, 0, 0]),
    ];
    let (log, played) = Stage::new(&ios, Mode::Dependent, Conflicts::Strict).run();
    assert_eq!(log.iter().map(|(at_ns, _)| *at_ns).collect::<Vec<_>>(), [0, 5, 100_705, 200_705]);
    assert_eq!(played.slips.max_ns(), Some(0));
}

/// What has to be answered before: on sets of blocks, and as flushes have it.
fn must_follow(later: &ScheduledIo, earlier: &ScheduledIo, conflicts: bool) -> bool {
    let blocks =
        |io: &ScheduledIo| io.offset_bytes / 4096..(io.offset_bytes + u64::from(io.length_bytes)) / 4096;
    let is_write = |io: &ScheduledIo| matches!(io.operation, Operation::Write | Operation::Trim);
    match (later.operation, earlier.operation) {
        (Operation::Flush, _) => is_write(earlier),
        (_, Operation::Flush) => later.after_flush,
        _ => {
            conflicts
                && (is_write(later) || is_write(earlier))
                && blocks(later).any(|block| blocks(earlier).any(|other| other == block))
        }
    }
}

proptest! {
    #[test]
    fn only_what_has_to_wait_waits(
        // Gap, operation, first block, blocks.
        drawn in prop::collection::vec((0..60_000_u64, 0..7_usize, 0..12_u64, 1..5_u64), 1..80),
        conflicts in prop::sample::select(vec![Conflicts::Strict, Conflicts::PushBack, Conflicts::Allow]),
        mode in prop::sample::select(vec![Mode::Timed, Mode::Afap]),
    ) {
        let kinds = [Operation::Read, Operation::Read, Operation::Write, Operation::Write, Operation::Trim];
        let mut due_ns = 0;
        let ios: Vec<_> = drawn.iter().map(|(gap_ns, kind, block, blocks)| {
            due_ns += gap_ns;
            let operation = *kinds.get(*kind).unwrap_or(&Operation::Flush);
            let flushed = *kind == 3;
            let length_bytes = if operation.is_addressed() { *blocks as u32 * 4096 } else { 0 };
            ScheduledIo { length_bytes, after_flush: flushed, ..io(due_ns, operation, *block) }
        }).collect();
        let latency_ns = |io: &Io| 20_000 + u64::from(io.length_bytes) * 7;
        // The moments from the rules alone: slots and what may be pushed back are never short here.
        let mut expected: Vec<(u64, usize)> = Vec::new();
        for (number, io) in ios.iter().enumerate() {
            let mut at_ns = if mode == Mode::Timed { io.due_ns } else { 0 };
            if conflicts != Conflicts::PushBack && let Some((before_ns, _)) = expected.last() {
                at_ns = at_ns.max(*before_ns);
            }
            for (other, (began_ns, _)) in ios.iter().zip(&expected) {
                if must_follow(io, other, conflicts != Conflicts::Allow) {
                    at_ns = at_ns.max(began_ns + latency_ns(&other.io()));
                }
            }
            expected.push((at_ns, number));
        }
        let mut ordered = expected.clone();
        ordered.sort_unstable();
        let mut stage = Stage::new(&ios, mode, conflicts);
        (stage.slots, stage.latency_ns) = (128, latency_ns);
        let (log, played) = stage.run();
        let wanted: Vec<_> = ordered.iter().map(|(at_ns, number)| (*at_ns, ios[*number].io())).collect();
        prop_assert_eq!(log, wanted);
        let mut highest = 0;
        let passed = ordered.iter().filter(|(_, number)| {
            highest = highest.max(*number);
            *number < highest
        });
        prop_assert_eq!(played.reordered, passed.count() as u64);
    }

    #[test]
    fn busy_time_is_the_measure_of_the_union(
        // Gap to the next, latency, whether it is a flush.
        ios in prop::collection::vec((0..50_u64, 1..200_u64, any::<bool>()), 1..60),
    ) {
        let mut due_ns = 0;
        let scheduled: Vec<_> = ios.iter().zip(0..).map(|((gap_ns, _, is_flush), number)| {
            due_ns += gap_ns;
            io(due_ns, if *is_flush { Operation::Flush } else { Operation::Read }, number)
        }).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path(), &scheduled);
        let mut player =
            Player::open(&replay(file.path(), Mode::Timed, Conflicts::Allow), 0, u64::MAX, true).unwrap();
        let mut ends: Vec<(u64, usize)> = Vec::new();
        let mut busy = std::collections::BTreeSet::new();
        for now_ns in 0..=due_ns + 200 {
            ends.iter().filter(|(end_ns, _)| *end_ns == now_ns).for_each(|(_, slot)| player.answered(*slot, now_ns));
            while let Cue::Issue(one) = player.cue(now_ns) {
                let slot = ends.len();
                ends.push((now_ns + ios[slot].1, slot));
                player.issued(slot);
                player.submitted(now_ns, |_| ());
                if one.operation == Operation::Read {
                    busy.extend(now_ns..now_ns + ios[slot].1);
                }
            }
        }
        prop_assert_eq!(player.take_played().busy_ns, busy.len() as u64);
    }
}

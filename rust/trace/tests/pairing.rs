//! Events of the block layer become I/Os.

use openpts_trace::{
    BlockAction, BlockEvent, Flags, Level, NO_PROCESS, NO_PROCESSOR, Pairing, Quality, Status, Tally,
    TracedIo, TracedOperation,
};

const DONE: BlockAction = BlockAction::Complete { error: 0 };

fn event(
    time_ns: i64,
    action: BlockAction,
    operation: TracedOperation,
    sector: u64,
    bytes: u64,
) -> BlockEvent {
    BlockEvent {
        time_ns,
        action,
        operation,
        flags: Flags::NONE,
        device: 0,
        sector,
        bytes,
        pid: NO_PROCESS,
        command: 0,
        cpu: NO_PROCESSOR,
        source_position: u64::try_from(time_ns).expect("positive"),
    }
}

fn read(time_ns: i64, action: BlockAction, sector: u64, sectors: u64) -> BlockEvent {
    event(time_ns, action, TracedOperation::Read, sector, sectors * 512)
}

fn write(time_ns: i64, action: BlockAction, sector: u64, sectors: u64) -> BlockEvent {
    event(time_ns, action, TracedOperation::Write, sector, sectors * 512)
}

fn on(device: u16, event: BlockEvent) -> BlockEvent {
    BlockEvent { device, ..event }
}

fn paired(from: Option<Level>, events: &[BlockEvent]) -> (Vec<TracedIo>, Tally) {
    let mut pairing = Pairing::new(from);
    let (mut ios, mut tally) = (Vec::new(), Tally::default());
    for event in events {
        pairing.event(event, &mut ios, &mut tally);
    }
    pairing.end(&mut ios, &mut tally);
    assert_eq!(tally.read, events.len() as u64);
    assert!(tally.is_conserved());
    (ios, tally)
}

/// Issue, completion, first sector, sectors.
fn spans(ios: &[TracedIo]) -> Vec<(i64, Option<i64>, u64, u64)> {
    ios.iter()
        .map(|io| (io.issued_ns, io.completed_ns, io.offset_bytes / 512, io.length_bytes / 512))
        .collect()
}

fn skips(tally: &Tally) -> Vec<(&'static str, u64)> {
    tally.skipped.iter().map(|(reason, count)| (*reason, *count)).collect()
}

#[test]
fn completions_end_the_oldest_of_their_place_and_direction() {
    let (ios, _) = paired(
        None,
        &[
            read(1, BlockAction::Issue, 8, 8),
            read(2, BlockAction::Issue, 8, 8),
            write(3, BlockAction::Issue, 8, 8),
            write(4, DONE, 8, 8),
            read(5, DONE, 8, 8),
            read(6, DONE, 8, 8),
        ],
    );
    assert_eq!(spans(&ios), [(1, Some(5), 8, 8), (2, Some(6), 8, 8), (3, Some(4), 8, 8)]);
}

#[test]
fn the_level_is_that_of_issue_if_there_is_one_and_can_be_chosen() {
    let events = [
        read(1, BlockAction::Queue, 0, 8),
        read(2, BlockAction::Queue, 8, 8),
        read(3, BlockAction::Merge, 8, 8),
        read(4, BlockAction::Issue, 0, 16),
        read(9, DONE, 0, 16),
    ];
    let (ios, tally) = paired(None, &events);
    assert_eq!(spans(&ios), [(4, Some(9), 0, 16)]);
    assert_eq!(skips(&tally), [("arrival at the queue, I/Os are those of issue", 2)]);

    let (ios, tally) = paired(Some(Level::Queue), &events);
    assert_eq!(spans(&ios), [(1, Some(9), 0, 8), (2, Some(9), 8, 8)]);
    assert!(ios.iter().all(|io| io.quality == Quality::PART_OF_MERGE));
    assert_eq!(skips(&tally), [("issue to the driver, I/Os are those of the queue", 1)]);
}

#[test]
fn only_one_of_the_levels_is_enough() {
    for action in [BlockAction::Queue, BlockAction::Issue] {
        let (ios, _) = paired(None, &[read(1, action, 0, 8), read(2, DONE, 0, 8)]);
        assert_eq!(spans(&ios), [(1, Some(2), 0, 8)]);
    }
}

#[test]
fn a_split_ends_with_its_last_part_in_any_order() {
    let (ios, _) = paired(
        Some(Level::Queue),
        &[
            write(1, BlockAction::Queue, 0, 24),
            write(2, BlockAction::Split { rest_sector: 8 }, 0, 8),
            write(3, BlockAction::Split { rest_sector: 16 }, 8, 8),
            write(4, DONE, 16, 8),
            write(5, DONE, 0, 8),
            write(6, DONE, 8, 8),
        ],
    );
    assert_eq!(spans(&ios), [(1, Some(6), 0, 24)]);
    assert_eq!(ios[0].quality, Quality::SPLIT);
}

#[test]
fn equal_splits_end_one_after_the_other() {
    let (ios, _) = paired(
        Some(Level::Queue),
        &[
            write(1, BlockAction::Queue, 0, 16),
            write(2, BlockAction::Queue, 0, 16),
            write(3, DONE, 0, 8),
            write(4, DONE, 0, 8),
            write(5, DONE, 8, 8),
            write(6, DONE, 8, 8),
        ],
    );
    assert_eq!(spans(&ios), [(1, Some(5), 0, 16), (2, Some(6), 0, 16)]);
}

#[test]
fn a_rest_that_old_kernels_queue_again_is_the_same_io() {
    let (ios, tally) = paired(
        Some(Level::Queue),
        &[
            write(1, BlockAction::Queue, 0, 16),
            write(2, BlockAction::Split { rest_sector: 8 }, 0, 8),
            write(3, BlockAction::Queue, 8, 8),
            write(4, DONE, 0, 8),
            write(5, DONE, 8, 8),
        ],
    );
    assert_eq!(spans(&ios), [(1, Some(5), 0, 16)]);
    assert_eq!(skips(&tally), [("rest of a split I/O", 1)]);
}

#[test]
fn a_partial_completion_ends_nothing_yet() {
    let (ios, _) =
        paired(None, &[read(1, BlockAction::Issue, 0, 16), read(2, DONE, 0, 4), read(5, DONE, 4, 12)]);
    assert_eq!(spans(&ios), [(1, Some(5), 0, 16)]);
}

#[test]
fn a_request_that_is_given_back_counts_from_its_second_issue() {
    let (ios, tally) = paired(
        None,
        &[
            read(1, BlockAction::Issue, 0, 8),
            read(2, BlockAction::Requeue, 0, 8),
            read(3, BlockAction::Issue, 0, 16),
            read(4, DONE, 0, 16),
        ],
    );
    assert_eq!(spans(&ios), [(3, Some(4), 0, 16)]);
    assert_eq!(tally.notes["given back by the driver"], 1);
}

#[test]
fn flushes_have_no_place_and_keep_their_order() {
    let flush = |time_ns, action, sector| event(time_ns, action, TracedOperation::Flush, sector, 0);
    let (ios, tally) = paired(
        None,
        &[
            flush(1, BlockAction::Issue, 0),
            flush(2, BlockAction::Issue, u64::MAX >> 9),
            flush(3, DONE, 0),
            // the flushed request itself, at last
            write(4, DONE, 0, 0),
            write(5, DONE, 0, 0),
        ],
    );
    assert_eq!(spans(&ios), [(1, Some(3), 0, 0), (2, Some(4), 0, 0)]);
    assert_eq!(skips(&tally), [("second end of a flush", 1)]);
}

#[test]
fn a_write_with_a_flush_before_it_is_both() {
    let mut queued = write(1, BlockAction::Queue, 64, 8);
    queued.flags = Flags::PREFLUSH.with(Flags::FUA).with(Flags::SYNC);
    let flush = |time_ns, action| event(time_ns, action, TracedOperation::Flush, 0, 0);
    let (ios, _) =
        paired(Some(Level::Queue), &[queued, flush(2, DONE), write(3, DONE, 64, 8), write(4, DONE, 72, 0)]);
    assert_eq!(spans(&ios), [(1, Some(3), 64, 8)]);
    assert!(ios[0].flags.has(Flags::PREFLUSH.with(Flags::FUA).with(Flags::SYNC)));
}

#[test]
fn a_bio_that_is_counted_down_ends_at_its_end() {
    let (ios, _) = paired(None, &[write(1, BlockAction::Queue, 0, 8), write(2, DONE, 8, 0)]);
    assert_eq!(spans(&ios), [(1, Some(2), 0, 8)]);
}

#[test]
fn stacked_devices_count_once() {
    // dm-0 (1) over two partitions (2, 3) of a disk (0), whose events name the disk
    let down = |time_ns, partition, within, sector, from_sector| {
        let remap =
            |from_device, from_sector, to_device| BlockAction::Remap { from_device, from_sector, to_device };
        [
            on(1, write(time_ns, BlockAction::Queue, from_sector, 8)),
            write(time_ns + 1, remap(1, from_sector, partition), within, 8),
            write(time_ns + 2, remap(partition, within, partition), sector, 8),
            write(time_ns + 3, BlockAction::Queue, sector, 8),
            write(time_ns + 4, BlockAction::Issue, sector, 8),
            write(time_ns + 5, DONE, sector, 8),
            on(1, write(time_ns + 6, DONE, from_sector, 8)),
        ]
    };
    let mut events = Vec::from(down(10, 2, 0, 2048, 0));
    events.extend(down(20, 3, 8, 4104, 1032));
    // and one that goes to the second partition directly
    events.extend([
        write(30, BlockAction::Remap { from_device: 3, from_sector: 16, to_device: 3 }, 4112, 8),
        write(31, BlockAction::Queue, 4112, 8),
        write(32, BlockAction::Issue, 4112, 8),
        write(33, DONE, 4112, 8),
    ]);
    let (ios, tally) = paired(None, &events);
    assert_eq!(spans(&ios), [(10, Some(16), 0, 8), (20, Some(26), 1032, 8), (31, Some(33), 4112, 8)]);
    assert_eq!(ios.iter().map(|io| io.device).collect::<Vec<_>>(), [1, 1, 0]);
    assert_eq!(tally.skipped["counted on the device above"], 2);

    let (ios, tally) = paired(Some(Level::Issue), &events);
    assert_eq!(spans(&ios), [(14, Some(15), 2048, 8), (24, Some(25), 4104, 8), (32, Some(33), 4112, 8)]);
    assert_eq!(tally.skipped["completion on a device without arrivals"], 2);
}

#[test]
fn an_io_that_would_have_waited_counts_when_it_is_sent_again() {
    let (ios, _) = paired(
        None,
        &[
            read(1, BlockAction::Queue, 0, 8),
            read(2, BlockAction::Complete { error: 11 }, 0, 8),
            read(3, BlockAction::Queue, 0, 8),
            read(4, DONE, 0, 8),
        ],
    );
    assert_eq!(spans(&ios), [(3, Some(4), 0, 8)]);
}

#[test]
fn what_began_before_or_ends_after_the_trace_is_counted() {
    let (ios, tally) = paired(
        None,
        &[
            read(1, DONE, 80, 8),
            read(2, BlockAction::Issue, 0, 8),
            read(3, BlockAction::Issue, 8, 8),
            read(4, DONE, 8, 8),
            write(5, DONE, 0, 8),
        ],
    );
    assert_eq!(spans(&ios), [(2, None, 0, 8), (3, Some(4), 8, 8)]);
    assert_eq!(ios[0].status, Status::NoCompletionSeen);
    assert_eq!(
        skips(&tally),
        [
            ("completion of a write that was not seen to begin", 1),
            ("completion on a device without arrivals", 1),
        ]
    );
}

#[test]
fn errors_are_kept() {
    let (ios, _) = paired(
        None,
        &[read(1, BlockAction::Issue, 0, 8), read(2, BlockAction::Complete { error: 61 }, 0, 8)],
    );
    assert_eq!(ios[0].status, Status::Failed(61));
}

#[test]
fn a_trace_without_completions_has_none_that_are_missing() {
    let (ios, _) = paired(None, &[read(1, BlockAction::Queue, 0, 8)]);
    assert_eq!(ios[0].status, Status::Done);
}

#[test]
fn one_that_never_ends_holds_up_no_more_than_memory_allows() {
    let mut pairing = Pairing::new(Some(Level::Issue));
    let (mut ios, mut tally) = (Vec::new(), Tally::default());
    pairing.event(&read(0, BlockAction::Issue, 1 << 40, 8), &mut ios, &mut tally);
    for time_ns in 1..=600_000 {
        let sector = 8 * u64::try_from(time_ns).expect("positive");
        pairing.event(&read(time_ns, BlockAction::Issue, sector, 8), &mut ios, &mut tally);
        pairing.event(&read(time_ns, DONE, sector, 8), &mut ios, &mut tally);
    }
    assert_eq!(ios.len(), 600_000);
    pairing.event(&read(600_001, DONE, 1 << 40, 8), &mut ios, &mut tally);
    assert_eq!(spans(&ios[600_000..]), [(0, Some(600_001), 1 << 40, 8)]);
}

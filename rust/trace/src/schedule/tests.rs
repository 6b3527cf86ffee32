//! Schedules of traces that are known.

use std::fs::File;

use openpts_core::workload::{Cue, Mode, Operation, Player, Replay};
use proptest::prelude::*;

use super::*;
use crate::traced_io::{Flags, TracedOperation};

const G: u64 = 64 << 10;

fn plan(capacity_bytes: u64) -> Plan {
    Plan {
        base_bytes: 0,
        capacity_bytes,
        shift_bytes: 0,
        sector_bytes: 512,
        unaligned: Unaligned::Round,
        mapping: Mapping::Identity,
        granule_bytes: G,
        speed: (1, 1),
        max_idle_ns: None,
        from_ns: 0,
        to_ns: None,
        ground: Ground::Both,
        reads: true,
        writes: true,
        trims: Convert::Keep,
        most_bytes: 1 << 20,
        with_parents: false,
    }
}

fn io(issued_ns: i64, operation: TracedOperation, offset_bytes: u64, length_bytes: u64) -> TracedIo {
    TracedIo::new(issued_ns, operation, offset_bytes, length_bytes, 0)
}

fn read(issued_ns: i64, offset_bytes: u64, length_bytes: u64) -> TracedIo {
    io(issued_ns, TracedOperation::Read, offset_bytes, length_bytes)
}

fn lasting(io: TracedIo, latency_ns: i64) -> TracedIo {
    TracedIo { completed_ns: Some(io.issued_ns + latency_ns), ..io }
}

/// When, what and where.
type Played = (u64, Operation, u64, u32);

/// The schedule as its player gives it.
fn made(ios: &[TracedIo], plan: &Plan) -> Result<(Made, Vec<Played>), TraceError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schedule");
    let open = || {
        let mut chunks = ios.chunks(7);
        let pull: Pull<'_> = Box::new(move |batch| {
            batch.clear();
            batch.extend(chunks.next().unwrap_or_default());
            Ok(!batch.is_empty())
        });
        Ok(pull)
    };
    let made = make_schedule(open, plan, File::create(&path).unwrap())?;
    let replay = Replay { path, mode: Mode::Timed, conflicts: openpts_core::workload::Conflicts::Allow };
    let mut player = Player::open(&replay, 0, u64::MAX, true).unwrap();
    let (mut played, mut now_ns) = (Vec::new(), 0);
    loop {
        match player.cue(now_ns) {
            Cue::Issue(io) => {
                played.push((now_ns, io.operation, io.offset_bytes, io.length_bytes));
                player.issued(0);
                player.submitted(now_ns, |_| ());
                player.answered(0, now_ns);
            }
            Cue::At(due_ns, _) => now_ns = due_ns,
            Cue::End => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(player.broken(), None);
    Ok((made, played))
}

fn places(ios: &[TracedIo], plan: &Plan) -> Vec<(u64, u32)> {
    made(ios, plan).unwrap().1.into_iter().map(|(_, _, offset, length)| (offset, length)).collect()
}

#[test]
fn a_trace_that_does_not_fit_is_refused_with_what_it_touches() {
    let other = TracedIo { device: 1, ..read(1, 8 * G, 4096) };
    for (ios, granules) in
        [(vec![read(0, 0, 4096), read(1, 64 * G, 4096)], 2), (vec![read(0, 64 * G, 4096), other], 2)]
    {
        let refused = made(&ios, &plan(16 * G)).unwrap_err().to_string();
        assert!(refused.contains(&format!("keep all {} B", granules * G)), "{refused}");
    }
}

#[test]
fn foreground_and_background_are_the_whole_on_one_axis_of_time() {
    let background = |io: TracedIo| TracedIo { flags: Flags::BACKGROUND, ..io };
    let ios = [
        lasting(read(0, 0, 4096), 10),
        background(lasting(read(1000, 2 * G, 4096), 500)),
        lasting(read(2000, 4 * G, 4096), 10),
        background(lasting(read(5000, 6 * G, 4096), 10)),
    ];
    let of = |ground, mapping| {
        let plan = Plan { ground, max_idle_ns: Some(0), mapping, ..plan(1 << 20) };
        let (made, played) = made(&ios, &plan).unwrap();
        (made, played.into_iter().map(|(due_ns, _, place, _)| (due_ns, place)).collect::<Vec<_>>())
    };
    let (whole, all) = of(Ground::Both, Mapping::Identity);
    let (front, shown) = of(Ground::Foreground, Mapping::Identity);
    let (behind, hidden) = of(Ground::Background, Mapping::Identity);
    // Idle is what nothing of the trace was in flight in, whichever part is replayed.
    assert_eq!(all, [(0, 0), (10, 2 * G), (510, 4 * G), (520, 6 * G)]);
    assert_eq!(shown, [all[0], all[2]]);
    assert_eq!(hidden, [all[1], all[3]]);
    assert_eq!((front.skipped["background"], behind.skipped["foreground"]), (2, 2));
    assert!(whole.skipped.is_empty());
    // Nor do places depend on it.
    let packed =
        [Ground::Both, Ground::Foreground, Ground::Background].map(|ground| of(ground, Mapping::Compact).1);
    assert_eq!([packed[1].clone(), packed[2].clone()].concat(), [0, 2, 1, 3].map(|number| packed[0][number]));
}

#[test]
fn times_are_scaled_as_a_whole_and_nothing_adds_up() {
    // Every gap of a million is 10.5 us at three halves of the speed: 7 us; and at 3: 3.5 us.
    let ios: Vec<_> = (0..1_000_000).map(|number| read(number * 10_500, 0, 512)).collect();
    for (speed, last_ns) in
        [((1, 1), 10_499_989_500), ((3, 2), 6_999_993_000), ((3, 1), 3_499_996_500), ((1, 7), 73_499_926_500)]
    {
        let (made, _) = made(&ios, &Plan { speed, ..plan(1 << 20) }).unwrap();
        assert_eq!((made.header.ios, made.header.span_ns), (1_000_000, last_ns));
    }
}

#[test]
fn what_is_left_out_keeps_its_time() {
    let ios = [
        read(0, 0, 512),
        io(10, TracedOperation::Write, 512, 512),
        read(25, 1024, 512),
        io(30, TracedOperation::Other, 0, 0),
        io(35, TracedOperation::ZoneReset, 0, 0),
        read(40, 0, 512),
    ];
    let (found, played) =
        made(&ios, &Plan { writes: false, to_ns: Some(40), from_ns: 5, ..plan(1 << 20) }).unwrap();
    assert_eq!(played, [(20, Operation::Read, 1024, 512)]);
    assert_eq!(found.skipped.values().sum::<u64>() + 1, found.traced);
    assert_eq!(found.skipped["outside of the window"], 2);
    let (found, played) = made(&ios, &plan(1 << 20)).unwrap();
    assert_eq!(played.iter().map(|one| one.0).collect::<Vec<_>>(), [0, 10, 25, 40]);
    assert_eq!((found.skipped["no access of data"], found.skipped["commands of zoned drives"]), (1, 1));
}

#[test]
fn idle_is_cut_where_nothing_is_in_flight_and_not_where_it_only_looks_so() {
    let ios = [
        lasting(read(0, 0, 512), 100),
        // Idle from 100 to 1,100: cut to 200, so that it begins at 300.
        lasting(read(1_100, 0, 512), 5_000),
        // Nothing is issued for 4,900, but one is in flight.
        lasting(read(6_000, 0, 512), 10),
        lasting(read(6_150, 0, 512), 10),
    ];
    let (found, played) = made(&ios, &Plan { max_idle_ns: Some(200), ..plan(1 << 20) }).unwrap();
    assert_eq!(played.iter().map(|one| one.0).collect::<Vec<_>>(), [0, 300, 5_200, 5_350]);
    assert_eq!((found.cut_idles, found.cut_ns), (1, 800));
    assert_eq!((found.original.busy_ns, found.original.span_ns), (5_100 + 10, 5_360));
}

#[test]
fn sectors_are_whole_and_trims_never_reach_further() {
    let ios = [
        read(0, 1, 510),
        read(1, 511, 2),
        io(2, TracedOperation::Trim, 100, 8192),
        io(3, TracedOperation::Trim, 4097, 4000),
    ];
    let (found, played) = made(&ios, &Plan { sector_bytes: 4096, ..plan(1 << 20) }).unwrap();
    let expected =
        [(0, Operation::Read, 0, 4096), (1, Operation::Read, 0, 4096), (2, Operation::Trim, 4096, 4096)];
    assert_eq!(played, expected);
    assert_eq!((found.rounding_bytes, found.skipped["trims of less than a sector"]), (2 * 4096 - 512, 1));
}

#[test]
fn large_ones_are_split_and_a_preflush_is_a_flush_before_its_write() {
    let flags = Flags::PREFLUSH.with(Flags::FUA);
    let ios = [
        read(0, 0, (2 << 20) + 512),
        TracedIo { flags, ..io(5, TracedOperation::Write, 0, 4096) },
        TracedIo { flags, ..io(6, TracedOperation::Write, 0, 0) },
        io(7, TracedOperation::Trim, 0, 5 << 30),
        io(8, TracedOperation::WriteZeroes, 0, 512),
    ];
    let (found, played) = made(&ios, &plan(6 << 30)).unwrap();
    let large = (1_u64 << 32) - (1 << 20);
    assert_eq!(
        played,
        [
            (0, Operation::Read, 0, 1 << 20),
            (0, Operation::Read, 1 << 20, 1 << 20),
            (0, Operation::Read, 2 << 20, 512),
            (5, Operation::Flush, 0, 0),
            (5, Operation::Write, 0, 4096),
            (6, Operation::Flush, 0, 0),
            (7, Operation::Trim, 0, large as u32),
            (7, Operation::Trim, large, ((5 << 30) - large) as u32),
            (8, Operation::Trim, 0, 512),
        ]
    );
    assert_eq!(found.header.largest_bytes, 1 << 20, "buffers are sized by what is transferred");
    assert_eq!((found.changed["preflushes"], found.changed["zeroes converted"]), (1, 1));
}

#[test]
fn a_trace_that_does_not_fit_is_mapped_as_was_asked_for_or_refused() {
    let ios = [read(0, 0, 4096), read(1, (1 << 20) - 2048, 4096), read(2, 5 << 20, 4096)];
    let refused = made(&ios, &plan(1 << 20)).unwrap_err().to_string();
    assert!(refused.contains("name a mapping"), "{refused}");
    let clip = Plan { mapping: Mapping::Clip, ..plan(1 << 20) };
    assert_eq!(places(&ios, &clip), [(0, 4096), ((1 << 20) - 2048, 2048)]);
    let (found, _) = made(&ios, &clip).unwrap();
    assert_eq!((found.clipped_bytes, found.skipped["beyond the target's end"]), (2048 + 4096, 1));
    let wrap = Plan { mapping: Mapping::Wrap, ..plan(1 << 20) };
    assert_eq!(places(&ios, &wrap), [(0, 4096), ((1 << 20) - 2048, 2048), (0, 2048), (0, 4096)]);
    let compact = Plan { mapping: Mapping::Compact, ..plan(1 << 20) };
    // Granules 0, 15 and 16, and 80 are the first four.
    assert_eq!(places(&ios, &compact), [(0, 4096), (2 * G - 2048, 4096), (3 * G, 4096)]);
    let refused = made(&ios, &Plan { capacity_bytes: 3 * G, ..compact }).unwrap_err().to_string();
    assert!(refused.contains("use clip or wrap"), "{refused}");
    let several = [read(0, 0, 4096), TracedIo { device: 1, ..read(1, 0, 4096) }];
    assert_eq!(places(&several, &plan(1 << 20)), [(0, 4096), (G, 4096)], "devices are one behind the other");
}

#[test]
fn zones_go_where_the_table_has_them_and_what_is_in_none_is_left_out() {
    let zone = |start, end, target| Zone { start: start * G, end: end * G, target: target * G };
    let zones = |zones: &[Zone]| Plan { mapping: Mapping::Zones(zones.to_vec()), ..plan(8 * G) };
    let ios = [
        read(0, 20 * G, 4096),
        read(1, 40 * G - 4096, 8192),
        read(2, 0, 4096),
        read(3, 19 * G + 512, 2 * G),
        read(4, 40 * G - 4096, 2 * G),
    ];
    let table = zones(&[zone(40, 41, 0), zone(20, 21, 7), zone(39, 40, 3)]);
    let (found, _) = made(&ios, &table).unwrap();
    assert_eq!(
        places(&ios, &table),
        [
            (7 * G, 4096),
            (4 * G - 4096, 4096),
            (0, 4096),
            (7 * G, G as u32),
            (4 * G - 4096, 4096),
            (0, G as u32)
        ]
    );
    assert_eq!((found.skipped["outside of the zones"], found.changed["cut at a zone's end"]), (1, 2));
    assert_eq!((found.changed["split by the mapping"], found.clipped_bytes), (2, 4096 + G + G - 4096));
    for (wrong, why) in [
        (zone(5, 5, 0), "is empty"),
        (Zone { start: 100, ..zone(0, 1, 0) }, "whole sectors"),
        (zone(0, 2, 7), "beyond the target's end"),
        (zone(20, 22, 0), "overlaps"),
    ] {
        let refused = made(&ios, &zones(&[zone(21, 23, 1), wrong])).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn a_part_of_the_target_is_a_target_and_a_shift_goes_round_in_it() {
    let ios = [read(0, 0, 4096), read(1, 3 * G - 512, 1024), io(2, TracedOperation::Trim, 3 * G, 5 * G)];
    let part = Plan { base_bytes: 5 * G, capacity_bytes: 4 * G, ..plan(0) };
    assert_eq!(places(&ios, &part), [(5 * G, 4096), (8 * G - 512, 1024), (8 * G, G as u32)]);
    let (found, _) = made(&ios, &part).unwrap();
    assert_eq!(found.touched_ranges, [(5 * G, 6 * G), (7 * G, 9 * G)]);
    // By a part of its size, and by any number of times its size more.
    for shift_bytes in [G, 4 * G + G, 40 * G + G] {
        let moved = Plan { shift_bytes, ..part.clone() };
        assert_eq!(
            places(&ios, &moved),
            [(6 * G, 4096), (9 * G - 512, 512), (5 * G, 512), (5 * G, G as u32)]
        );
        assert_eq!(
            made(&ios, &moved).unwrap().0.read_ranges,
            [(5 * G, 5 * G + 4096), (6 * G, 6 * G + 4096), (9 * G - 4096, 9 * G)]
        );
    }
    assert!(
        made(&ios, &Plan { capacity_bytes: 3 * G, ..part.clone() }).is_err(),
        "the part is what it has to fit"
    );
    let refused = made(&ios, &Plan { shift_bytes: 100, ..part }).unwrap_err().to_string();
    assert!(refused.contains("whole sectors"), "{refused}");
}

#[test]
fn parts_of_sectors_are_rounded_read_first_or_left_out() {
    let writes =
        [(0, 4096, 4096), (1, 512, 512), (2, 4096 + 512, 8192), (3, 8192, 512), (4, 512, 4096 - 512)];
    let mut ios: Vec<_> =
        writes.map(|(at_ns, from, length)| io(at_ns, TracedOperation::Write, from, length)).into();
    ios.push(read(5, 512, 512));
    let treated = |unaligned| Plan { sector_bytes: 4096, unaligned, ..plan(1 << 20) };
    let (found, played) = made(&ios, &treated(Unaligned::Rmw)).unwrap();
    let (read, write) = (Operation::Read, Operation::Write);
    assert_eq!(
        played,
        [
            (0, write, 4096, 4096),
            (1, read, 0, 4096),
            (1, write, 0, 4096),
            (2, read, 4096, 4096),
            (2, read, 12288, 4096),
            (2, write, 4096, 12288),
            (3, read, 8192, 4096),
            (3, write, 8192, 4096),
            (4, read, 0, 4096),
            (4, write, 0, 4096),
            (5, read, 0, 4096),
        ]
    );
    assert_eq!((found.changed["read before a write of a part"], found.traced), (5, 6));
    assert_eq!(found.read_ranges, [(0, 16384)], "what is read first is there");
    let rounded: Vec<_> = made(&ios, &treated(Unaligned::Round)).unwrap().1;
    assert_eq!(
        rounded,
        played.iter().filter(|one| one.1 == write || one.0 == 5).copied().collect::<Vec<_>>()
    );
    let (found, played) = made(&ios, &treated(Unaligned::Skip)).unwrap();
    assert_eq!((played, found.skipped["not of whole sectors"]), (vec![(0, write, 4096, 4096)], 5));
}

#[test]
fn a_trace_that_is_empty_or_not_in_order_is_refused() {
    assert!(made(&[], &plan(1 << 20)).is_err());
    assert!(
        made(&[read(9, 0, 512), read(3, 0, 512)], &plan(1 << 20)).unwrap_err().to_string().contains("order")
    );
    let blind = Plan { with_parents: true, ..plan(1 << 20) };
    assert!(made(&[read(0, 0, 512)], &blind).unwrap_err().to_string().contains("completions"));
}

/// Some hundred I/Os, in runs and apart, over a drive of 4 GiB, with latencies.
fn any_trace() -> impl Strategy<Value = Vec<TracedIo>> {
    let runs = prop::collection::vec((0..65_536_u64, 1..6_u64, any::<bool>(), 1..900_i64), 1..60);
    runs.prop_map(|runs| {
        let mut ios = Vec::new();
        for (granule, length, writes, latency_ns) in runs {
            for part in 0..length {
                let operation = if writes { TracedOperation::Write } else { TracedOperation::Read };
                let issued_ns = ios.len() as i64 * 100;
                // Runs of 40 KiB each cross granules at several places.
                let one = io(issued_ns, operation, granule * G + part * 40_960, 40_960);
                ios.push(lasting(one, latency_ns));
            }
        }
        ios
    })
}

proptest! {
    #[test]
    fn moving_runs_keeps_what_is_sequential_and_what_overlaps(ios in any_trace(), is_scaled in any::<bool>(), room in 0..100_000_u64) {
        let touched = {
            let mut footprint = Footprint::new(G);
            ios.iter().for_each(|io| footprint.touch(io.offset_bytes, io.end_bytes()));
            (footprint.bytes(), footprint.ranges().len() as u64)
        };
        let mapping = if is_scaled { Mapping::Scale } else { Mapping::Compact };
        // From the least that all gaps fit in to more than the trace has.
        let capacity_bytes = touched.0 + (touched.1 + room) * G;
        let (found, played) = made(&ios, &Plan { mapping, capacity_bytes, ..plan(0) }).unwrap();
        prop_assert_eq!(played.len(), ios.len(), "none is split");
        let mut by_place: Vec<_> = ios.iter().zip(&played).map(|(io, played)| (io.offset_bytes, played.2)).collect();
        by_place.sort_unstable();
        for pair in by_place.windows(2) {
            prop_assert_eq!(pair[0].0.cmp(&pair[1].0), pair[0].1.cmp(&pair[1].1), "order of places");
        }
        for (left, one) in ios.iter().zip(&played) {
            for (right, other) in ios.iter().zip(&played) {
                let overlap = left.offset_bytes < right.end_bytes() && right.offset_bytes < left.end_bytes();
                let (end, other_end) = (one.2 + u64::from(one.3), other.2 + u64::from(other.3));
                prop_assert_eq!(overlap, one.2 < other_end && other.2 < end, "the graph of overlaps");
                if is_scaled {
                    prop_assert_eq!(left.end_bytes() == right.offset_bytes, end == other.2, "sequential");
                }
            }
        }
        prop_assert_eq!(found.before.overlaps, found.after.overlaps);
        prop_assert_eq!(found.before.footprint_bytes, found.after.footprint_bytes);
        if is_scaled {
            prop_assert_eq!(found.before.sequential_pct.to_bits(), found.after.sequential_pct.to_bits());
        }
        prop_assert!(found.header.end_bytes <= capacity_bytes);
        prop_assert!(found.header.peak_in_flight > 0);
    }

    #[test]
    fn busy_time_is_the_measure_of_the_union(ios in prop::collection::vec((0..50_i64, 0..200_i64), 1..80)) {
        let mut now_ns = 0;
        let mut busy = std::collections::BTreeSet::new();
        let ios: Vec<_> = ios.into_iter().map(|(gap_ns, latency_ns)| {
            now_ns += gap_ns;
            busy.extend(now_ns..now_ns + latency_ns);
            lasting(read(now_ns, 0, 512), latency_ns)
        }).collect();
        let (found, _) = made(&ios, &plan(1 << 20)).unwrap();
        prop_assert_eq!(found.original.busy_ns, busy.len() as u64);
    }

    #[test]
    fn ranges_are_what_was_touched(touches in prop::collection::vec((0..3_000_u64, 0..200_u64), 1..40)) {
        // Granules of 64 bytes: a page has 4 MiB, and the touches cross one.
        let at = (1 << 22) - 100_000;
        let mut footprint = Footprint::new(64);
        let mut granules = std::collections::BTreeSet::new();
        for (start, length) in touches {
            let (start, end) = (at + start * 64 + 3, at + (start + length) * 64 + 3);
            footprint.touch(start, end);
            if start < end {
                granules.extend(start / 64..=(end - 1) / 64);
            }
        }
        let ranges = footprint.ranges();
        let listed: Vec<u64> = ranges.iter().flat_map(|(start, end)| start / 64..end / 64).collect();
        prop_assert_eq!(&listed, &granules.iter().copied().collect::<Vec<_>>());
        prop_assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        prop_assert_eq!(footprint.bytes(), granules.len() as u64 * 64);
    }
}

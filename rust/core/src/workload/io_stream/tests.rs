use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::workload::Placement;
use crate::workload::stimulus::{BlockSize, Stop, Zone};
use crate::workload::testing::{SECTOR, chi_square_p, endless, random_writes};

fn sequential(block_size_bytes: u32, tc: u32, range: Range<u64>) -> Stimulus {
    Stimulus { random_pct: 0, tc, ..random_writes(block_size_bytes, range) }
}

fn amount(stimulus: Stimulus, bytes: u64) -> Step {
    let stop = Stop { amount_bytes: Some(bytes), ..Stop::default() };
    Step::new(Some(stimulus), stop)
}

fn stream<'a>(step: &Step, thread: u32, carried: &'a mut Carried) -> IoStream<'a> {
    IoStream::new(step, &step.streams[0], SECTOR, thread, carried)
}

/// All I/Os of all threads of a step that ends by itself.
fn all_of(step: &Step) -> Vec<Io> {
    let tc = step.tc();
    (0..tc)
        .flat_map(|thread| stream(step, thread, &mut Carried::new(1, thread)).collect::<Vec<_>>())
        .collect()
}

fn offsets(step: &Step, count: usize, carried: &mut Carried) -> Vec<u64> {
    stream(step, 0, carried).take(count).map(|io| io.offset_bytes).collect()
}

proptest! {
    #[test]
    fn a_pass_of_all_threads_covers_every_sector_exactly_once(
        start in 0..50_u64,
        sectors in 16..3000_u64,
        blocks in prop::collection::vec((1..40_u32, 0..5_u32), 1..5),
        tc in 1..9_u32,
        passes in 1..3_u64,
    ) {
        let largest = blocks.iter().map(|(sectors, _)| *sectors).max().unwrap();
        prop_assume!(sectors >= u64::from(largest * tc));
        prop_assume!(blocks.iter().any(|(_, weight)| *weight > 0));
        let bytes = |sectors: u64| sectors * u64::from(SECTOR);
        let mut stimulus = sequential(512, tc, bytes(start)..bytes(start + sectors));
        stimulus.block_sizes = blocks
            .iter()
            .map(|(sectors, weight)| BlockSize::new(sectors * SECTOR, *weight))
            .collect();
        let mut written = vec![0; usize::try_from(start + sectors + 50).unwrap()];
        for io in all_of(&amount(stimulus, bytes(sectors) * passes)) {
            for sector in 0..u64::from(io.length_bytes / SECTOR) {
                written[usize::try_from(io.offset_bytes / u64::from(SECTOR) + sector).unwrap()] += 1;
            }
        }
        let inside = |sector: u64| (start..start + sectors).contains(&sector);
        for (sector, times) in written.iter().enumerate() {
            prop_assert_eq!(*times, if inside(sector as u64) { passes } else { 0 }, "sector {}", sector);
        }
    }

    #[test]
    fn random_accesses_stay_inside_the_range_and_aligned(
        start in 0..100_u64,
        extra in 0..1000_u64,
        block_size_bytes in prop::sample::select(vec![512_u32, 1536, 4096, 5120, 8192, 1 << 20]),
        alignment_bytes in prop::sample::select(vec![None, Some(512), Some(1536), Some(16384)]),
    ) {
        let alignment = u64::from(alignment_bytes.unwrap_or(512));
        let bytes = u64::from(block_size_bytes) * 2 + alignment + extra * 512;
        let range = start * 512..start * 512 + bytes;
        let mut stimulus = random_writes(block_size_bytes, range.clone());
        stimulus.alignment_bytes = alignment_bytes;
        for io in stream(&endless(stimulus), 0, &mut Carried::new(1, 0)).take(200) {
            prop_assert!(io.offset_bytes >= range.start);
            prop_assert!(io.offset_bytes + u64::from(io.length_bytes) <= range.end);
            let default = if block_size_bytes >= 4096 { 4096 } else { 512 };
            prop_assert_eq!(io.offset_bytes % u64::from(alignment_bytes.unwrap_or(default)), 0);
        }
    }

    #[test]
    fn the_threads_together_issue_the_amount_and_less_than_a_block_more(
        blocks in 1..5000_u64,
        rest in 0..4096_u64,
        tc in 1..9_u32,
        random_pct in prop::sample::select(vec![0_u8, 30, 100]),
    ) {
        let asked = blocks * 4096 + rest;
        let mut stimulus = sequential(4096, tc, 0..1000 * 4096);
        stimulus.random_pct = random_pct;
        let issued: u64 = all_of(&amount(stimulus, asked)).iter().map(|io| u64::from(io.length_bytes)).sum();
        prop_assert!((asked..asked + 4096).contains(&issued), "{} for {}", issued, asked);
    }

    #[test]
    fn the_threads_together_issue_exactly_the_ios(ios in 1..5000_u64, tc in 1..9_u32) {
        let stop = Stop { ios: Some(ios), ..Stop::default() };
        let mut stimulus = sequential(4096, tc, 0..1000 * 4096);
        stimulus.operations.flush = 2;
        let issued = all_of(&Step::new(Some(stimulus), stop));
        prop_assert_eq!(issued.len() as u64, ios);
    }
}

#[test]
fn every_place_of_a_small_range_is_reached_last_one_included() {
    let step = endless(random_writes(4096, 0..10 * 4096));
    let mut seen = [0; 10];
    for offset in offsets(&step, 1000, &mut Carried::new(1, 0)) {
        seen[usize::try_from(offset / 4096).unwrap()] += 1;
    }
    assert!(seen.iter().all(|times| (60..150).contains(times)), "{seen:?}");
}

#[test]
fn a_later_step_draws_other_offsets() {
    for placement in [
        Placement::Uniform,
        Placement::Zipf { theta: 0.9 },
        Placement::Normal { mean_pct: 50.0, deviation_pct: 10.0 },
        Placement::Segments { count: 10, bytes: 1 << 20 },
        Placement::UniqueLbas { bytes: 1 << 24 },
    ] {
        let step = endless(Stimulus { placement, ..random_writes(4096, 0..1 << 30) });
        let mut carried = Carried::new(1, 0);
        let first = offsets(&step, 100, &mut carried);
        assert_ne!(first, offsets(&step, 100, &mut carried));
    }
}

#[test]
fn a_later_sequential_step_goes_on_where_the_earlier_one_stopped() {
    let step = endless(sequential(4096, 1, 0..10 * 4096));
    let mut carried = Carried::new(1, 0);
    let mut places = Vec::new();
    for count in [3, 9] {
        places.extend(offsets(&step, count, &mut carried).iter().map(|offset| offset / 4096));
    }
    assert_eq!(places, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
}

#[test]
fn a_random_step_in_between_does_not_move_the_sequential_place() {
    let step = endless(sequential(4096, 1, 0..100 * 4096));
    let mut carried = Carried::new(1, 0);
    offsets(&step, 7, &mut carried);
    offsets(&endless(random_writes(512, 0..50 * 4096)), 9, &mut carried);
    assert_eq!(offsets(&step, 1, &mut carried), [7 * 4096]);
}

#[test]
fn another_block_size_goes_on_at_a_place_of_its_own() {
    let mut carried = Carried::new(1, 0);
    let range = 4096..100 * 4096;
    offsets(&endless(sequential(512, 1, range.clone())), 3, &mut carried);
    let step = endless(sequential(8192, 1, range));
    assert_eq!(offsets(&step, 2, &mut carried), [4096 + 8192, 4096 + 2 * 8192]);
}

#[test]
fn a_stride_leaves_gaps_and_wraps_within_the_threads_part() {
    let mut stimulus = sequential(4096, 2, 0..10 * 16384);
    stimulus.stride_bytes = Some(16384);
    let step = endless(stimulus);
    for thread in 0..2 {
        let mut carried = Carried::new(1, thread);
        let places: Vec<_> =
            stream(&step, thread, &mut carried).take(7).map(|io| io.offset_bytes / 16384).collect();
        let start = 5 * u64::from(thread);
        assert_eq!(places, [0, 1, 2, 3, 4, 0, 1].map(|place| start + place));
    }
}

#[test]
fn a_mixed_order_is_exact_and_its_sequential_share_goes_on_in_order() {
    let step = endless(Stimulus { random_pct: 40, ..sequential(4096, 1, (1 << 30)..(1 << 31)) });
    let mut carried = Carried::new(3, 0);
    let mut next = 1 << 30;
    for _ in 0..4 {
        let mut in_order = 0;
        for offset in offsets(&step, 100, &mut carried) {
            if offset == next {
                next += 4096;
                in_order += 1;
            }
        }
        assert_eq!(in_order, 60);
    }
}

#[test]
fn the_client_range_is_passed_two_and_two_thirds_times() {
    // 2 x user capacity inside 75 % of it: the amount stays, the passes grow.
    let capacity = 400 * 4096_u64;
    let step = amount(sequential(4096, 2, 0..capacity * 3 / 4), 2 * capacity);
    let bytes: u64 = all_of(&step).iter().map(|io| u64::from(io.length_bytes)).sum();
    assert_eq!(bytes, 2 * capacity);
}

#[test]
fn flushes_have_no_place_and_leave_the_sizes_exact() {
    let mut stimulus = random_writes(4096, 0..1 << 30);
    stimulus.operations = OperationWeights { read: 3, write: 2, trim: 1, flush: 3, fsync: 1 };
    stimulus.block_sizes = vec![BlockSize::new(4096, 5), BlockSize::new(8192, 1)];
    let ios: Vec<_> = stream(&endless(stimulus), 0, &mut Carried::new(1, 0)).take(1000).collect();
    for (operation, count) in Operation::ALL.into_iter().zip([300, 200, 100, 300, 100]) {
        let of_it: Vec<_> = ios.iter().filter(|io| io.operation == operation).collect();
        assert_eq!(of_it.len(), count, "{operation:?}");
        let is_placed = |io: &&&Io| io.length_bytes > 0;
        let placed = of_it.iter().filter(is_placed).count();
        assert_eq!(placed, if operation.is_addressed() { count } else { 0 });
    }
    assert!(ios.iter().all(|io| io.operation.is_addressed() || io.offset_bytes == 0));
    assert_eq!(ios.iter().filter(|io| io.length_bytes == 8192).count(), 100);
}

#[test]
fn the_composite_workload_of_pts_13_is_exact_in_sizes_mix_and_zones() {
    let sizes = [512, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 8192, 16384, 32768, 65536];
    let weights = [4, 1, 1, 1, 1, 1, 1, 67, 10, 7, 3, 3];
    let range = 1_000_000 * 4096_u64;
    let mut stimulus = random_writes(4096, 0..range);
    stimulus.operations = OperationWeights::reads_pct(40);
    stimulus.block_sizes =
        sizes.into_iter().zip(weights).map(|(bytes, weight)| BlockSize::new(bytes, weight)).collect();
    let zone = |weight, range_pct| Zone { weight, range_pct };
    stimulus.placement = Placement::Zones(vec![zone(50, 5.0), zone(30, 15.0), zone(20, 80.0)]);
    let edges = [0, range / 20, range / 5, range];
    let ios: Vec<_> = stream(&endless(stimulus), 0, &mut Carried::new(7, 0)).take(10_000).collect();
    for hundred in ios.chunks(100) {
        for (size, weight) in sizes.into_iter().zip(weights) {
            assert_eq!(hundred.iter().filter(|io| io.length_bytes == size).count(), weight as usize);
        }
        assert_eq!(hundred.iter().filter(|io| io.operation == Operation::Read).count(), 40);
        for (zone, count) in edges.windows(2).zip([50, 30, 20]) {
            let inside = |io: &&Io| {
                (zone[0]..zone[1]).contains(&io.offset_bytes)
                    && io.offset_bytes + u64::from(io.length_bytes) <= zone[1]
            };
            assert_eq!(hundred.iter().filter(inside).count(), count);
        }
    }
    // Uniform inside the widest zone.
    let mut cells = [0; 20];
    for io in ios.iter().filter(|io| io.offset_bytes >= edges[2]) {
        cells[((io.offset_bytes - edges[2]) * 20 / (range - edges[2])) as usize] += 1;
    }
    let p = chi_square_p(&cells, &[100.0; 20]);
    assert!(p > 1e-4, "{p}");
}

#[test]
fn segments_and_unique_places_are_the_same_for_all_threads_and_steps() {
    for (placement, most) in
        [(Placement::Segments { count: 3, bytes: 8192 }, 6), (Placement::UniqueLbas { bytes: 7 * 4096 }, 7)]
    {
        let step = endless(Stimulus { tc: 4, placement, ..random_writes(4096, 0..1 << 30) });
        let mut touched = Vec::new();
        for thread in 0..4 {
            let mut carried = Carried::new(11, thread);
            for _ in 0..2 {
                touched.extend(stream(&step, thread, &mut carried).take(500).map(|io| io.offset_bytes));
            }
        }
        touched.sort_unstable();
        touched.dedup();
        assert_eq!(touched.len(), most, "{touched:?}");
    }
}

#[test]
fn other_segments_are_arranged_anew() {
    let mut carried = Carried::new(5, 0);
    for count in [3, 5, 3] {
        let placement = Placement::Segments { count, bytes: 4096 };
        let step = endless(Stimulus { placement, ..random_writes(4096, 0..1 << 30) });
        let mut touched = offsets(&step, 500, &mut carried);
        touched.sort_unstable();
        touched.dedup();
        assert_eq!(touched.len(), count as usize);
    }
}

#[test]
fn a_stream_goes_on_beyond_its_amount_where_the_step_must() {
    let step = amount(sequential(4096, 1, 0..10 * 4096), 3 * 4096);
    let mut carried = Carried::new(1, 0);
    let mut stream = stream(&step, 0, &mut carried);
    assert_eq!(stream.by_ref().count(), 3);
    stream.go_on();
    assert_eq!(stream.next().unwrap().offset_bytes, 3 * 4096);
    assert_eq!(stream.take(100).count(), 100);
}

#[test]
fn every_deck_of_the_composite_mix_holds_its_sizes_and_zones_by_number() {
    // PTS 13.2, Table 13-1, with weights of zones that share nothing with those of the sizes.
    let weights = [4, 1, 1, 1, 1, 1, 1, 67, 10, 7, 3, 3];
    let bytes = [512, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 8192, 16_384, 32_768, 65_536];
    let zones = [(50, 5.0), (30, 15.0), (20, 80.0)].map(|(weight, range_pct)| Zone { weight, range_pct });
    let mut stimulus = random_writes(512, 0..1 << 30);
    stimulus.block_sizes =
        bytes.into_iter().zip(weights).map(|(bytes, weight)| BlockSize::new(bytes, weight)).collect();
    stimulus.placement = Placement::Zones(zones.to_vec());
    let step = endless(stimulus);
    let mut carried = Carried::new(1, 0);
    let ios: Vec<Io> = stream(&step, 0, &mut carried).take(1000).collect();
    let ends = [(1 << 30) / 20 / 512 * 512, (1 << 30) / 5 / 512 * 512, 1 << 30];
    for deck in ios.chunks(100) {
        let mut counts = [0; 12];
        deck.iter().for_each(|io| counts[usize::from(io.choice.size) - 1] += 1);
        assert_eq!(counts, weights);
        let mut counts = [0; 3];
        deck.iter().for_each(|io| counts[usize::from(io.choice.zone) - 1] += 1);
        assert_eq!(counts, [50, 30, 20]);
    }
    for io in ios {
        assert_eq!(io.length_bytes, bytes[usize::from(io.choice.size) - 1]);
        let zone = ends.iter().position(|end| io.offset_bytes < *end).unwrap();
        assert_eq!(usize::from(io.choice.zone) - 1, zone);
    }
}

proptest! {
    #[test]
    fn a_choice_is_numbered_where_there_is_one_and_a_sequence_lies_in_its_zone(
        sizes in 1..5_u32,
        zones in 0..5_usize,
        random_pct in prop::sample::select(vec![30_u8, 100]),
        flush in 0..3_u32,
    ) {
        let mut stimulus = random_writes(512, 0..1000 * 4096);
        stimulus.block_sizes = (1..=sizes).map(|n| BlockSize::new(n * 512, 1)).collect();
        stimulus.random_pct = random_pct;
        stimulus.operations.flush = flush;
        if zones > 0 {
            let range_pct = 100.0 / zones as f64;
            stimulus.placement = Placement::Zones(vec![Zone { weight: 1, range_pct }; zones]);
        }
        let regions = crate::workload::zones::regions(&stimulus, stimulus.zones(), SECTOR);
        for io in stream(&endless(stimulus), 0, &mut Carried::new(7, 0)).take(500) {
            let is_addressed = io.operation.is_addressed();
            prop_assert_eq!(io.choice.size > 0, is_addressed && sizes > 1);
            prop_assert_eq!(io.choice.zone > 0, is_addressed && zones > 0);
            if io.choice.zone > 0 {
                prop_assert!(regions[usize::from(io.choice.zone) - 1].contains(&io.offset_bytes));
            }
        }
    }
}

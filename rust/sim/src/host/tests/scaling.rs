//! A small drive in place of a large one: what comes back is what was asked for.

use openpts_core::workload::{
    Limits, Operation, Pacing, Placement, SteadyFigure, SteadyRule, Step, Stimulus, Stop, Uniform, Zone,
};

use super::super::VirtualConfiguration;
use super::super::scaled_program::Down;
use super::super::testing::*;
use crate::scale::Scale;

const SCALES: [u32; 3] = [1, 7, 67];

fn scaled(scale: u32, servers: Servers) -> Setup {
    let interval_ns = 10 * MS * u64::from(scale);
    open_scaled(servers, scale, &VirtualConfiguration { interval_ns, ..configuration() })
}

/// The stimulus over a nominal drive of that scale.
fn over(scale: u32, stimulus: Stimulus) -> Stimulus {
    Stimulus { range_end_bytes: CAPACITY * u64::from(scale), ..stimulus }
}

fn down(scale: u32) -> Down {
    let capacity_bytes = CAPACITY * u64::from(scale);
    let limits = Limits { capacity_bytes, sector_bytes: 512, tc: 16, qd: 256, block_size_bytes: 1 << 20 };
    Down::new(&limits, Scale::new(scale).unwrap())
}

#[test]
fn a_pass_over_the_drive_is_a_pass_over_the_small_one() {
    for scale in SCALES {
        let factor = u64::from(scale);
        let setup = scaled(scale, Servers::new(1));
        assert_eq!(setup.drive.capacity_bytes(), factor * CAPACITY);
        let stimulus = Stimulus { random_pct: 0, ..over(scale, random(3, 2, Operation::Write)) };
        let stop = Stop { amount_bytes: Some(2 * factor * CAPACITY), ..Stop::default() };
        let cell = setup.run_one(step(stimulus, stop));
        let sums = total(&cell);
        assert_eq!((sums.bytes, sums.ios), (2 * factor * CAPACITY, 2 * factor * 1024));
        assert_eq!(cell.elapsed_ns, 2 * factor * 1024 * SERVICE_NS, "rates are the same");
        assert_eq!(sums.latency_max_ns, Some(6 * SERVICE_NS), "latencies are the same");
        let mut counts = vec![0; 1024];
        setup
            .log
            .lock()
            .unwrap()
            .ios
            .iter()
            .for_each(|(_, io)| counts[(io.offset_bytes / 4096) as usize] += 1);
        assert_eq!(counts, [2; 1024]);
    }
}

#[test]
fn times_of_steps_are_those_that_were_asked_for_and_rates_and_means_do_not_depend_on_the_scale() {
    for scale in SCALES {
        let factor = u64::from(scale);
        let setup = scaled(scale, Servers::new(2));
        let ramped = Step { ramp_ns: 13 * MS, ..step(over(scale, reads(1, 2)), lasting(factor * 100 * MS)) };
        let (cell, intervals) = setup.run(vec![ramped]).remove(0);
        assert_eq!(cell.started_ns, 13 * MS);
        let late_ns = cell.elapsed_ns - factor * 100 * MS;
        assert!(late_ns <= SERVICE_NS, "at most the drain of a real drive: {late_ns}");
        let sums = total(&cell);
        assert!(sums.ios.abs_diff(factor * 2000) <= 2 * factor && sums.ios.is_multiple_of(factor));
        assert_eq!(sums.latency_sum_ns, u128::from(sums.ios * SERVICE_NS));
        assert!(intervals[..10].iter().all(|interval| interval.elapsed_ns == factor * 10 * MS));
        assert!(intervals[..9].iter().all(|interval| interval.in_flight == 2), "a queue is not scaled");
        let histogram =
            openpts_core::histogram::decode(&cell.operations.of(Operation::Read).histogram).unwrap();
        assert_eq!(histogram.count() * factor, sums.ios, "no percentile is told that was not simulated");
        let idle = setup.run_one(idle(factor * MS + 1));
        assert_eq!(idle.elapsed_ns, factor * MS + 1);
    }
}

/// Equal servers in a closed network, to one of which each I/O goes by chance, with exponential service
/// times: the rate of `servers` of them with `queue` I/Os outstanding is theirs alone times Q / (Q + n - 1)
/// (Gordon and Newell 1967). Its queues are of unequal lengths, so that a drain takes long and is slow.
#[test]
fn the_drain_of_requests_that_stand_for_many_is_in_no_rate() {
    let (servers, queue, steps) = (8, 16, 1000);
    let theory_per_s = 1e9 / SERVICE_NS as f64 * f64::from(servers * queue) / f64::from(queue + servers - 1);
    for scale in SCALES {
        let factor = u64::from(scale);
        let by_place = Servers {
            by_place: true,
            random: Some(Uniform::for_thread(5, 0)),
            ..Servers::new(servers as usize)
        };
        let setup = scaled(scale, by_place);
        let lasts_ns = factor * 10 * MS;
        let (mut ios, mut elapsed_ns) = (0, 0);
        for (cell, intervals) in setup.run(vec![step(over(scale, reads(1, queue)), lasting(lasts_ns)); steps])
        {
            let sums = total(&cell);
            let of_intervals = intervals.iter().flat_map(|interval| interval.operations.iter());
            assert_eq!(of_intervals.map(|(_, operation)| operation.ios).sum::<u64>(), sums.ios);
            let lengths_ns: u64 = intervals.iter().map(|interval| interval.elapsed_ns).sum();
            assert!(lengths_ns.abs_diff(cell.elapsed_ns) <= 1, "{lengths_ns} of {}", cell.elapsed_ns);
            assert!(scale == 1 || cell.elapsed_ns == lasts_ns, "{scale}: {}", cell.elapsed_ns);
            ios += sums.ios;
            elapsed_ns += cell.elapsed_ns;
        }
        let per_s = ios as f64 * 1e9 / elapsed_ns as f64;
        assert!(
            scale == 1 || (per_s / theory_per_s - 1.0).abs() < 0.01,
            "{scale}: {per_s} of {theory_per_s}"
        );
    }
}

/// One server and 16 outstanding: the first 16 of a queue that begins empty wait for 1 to 16 services, all
/// later ones for 16 (Little).
#[test]
fn a_scaled_step_after_another_begins_to_count_once_its_queue_has_filled() {
    let (scale, queue) = (67, 16);
    let setup = scaled(scale, Servers::new(1));
    let lasts_ns = u64::from(scale) * 10 * MS;
    let busy = || step(over(scale, reads(1, queue)), lasting(lasts_ns));
    let steps = setup.run(vec![busy(), busy(), idle(MS), busy()]);
    let shortest_ns = |index: usize| total(&steps[index].0).latency_min_ns.unwrap();
    let filled_ns = u64::from(queue) * SERVICE_NS;
    assert_eq!([0, 1, 3].map(shortest_ns), [SERVICE_NS, filled_ns, SERVICE_NS], "a pause empties a queue");
    let second = &steps[1].0;
    assert_eq!(total(second).ios, lasts_ns / SERVICE_NS);
    assert_eq!(second.elapsed_ns, lasts_ns);
    let gap_ns = second.started_ns - (steps[0].0.started_ns + lasts_ns);
    assert!(gap_ns <= filled_ns, "a lead-in takes none of the nominal drive's time: {gap_ns}");
}

/// Writes that wait for their group, issued before the step's time begins and after, are answered together:
/// some of them count, at the very beginning of the step, which is over before anything else is answered.
#[test]
fn an_interval_whose_answers_all_come_as_it_begins_lasts_no_longer_than_its_step() {
    let scale = 2;
    let group = Some((1000, 50 * SERVICE_NS * 1000));
    let setup = scaled(scale, Servers { group, ..Servers::new(2) });
    let mut stimulus = over(scale, reads(1, 16));
    stimulus.operations.write = stimulus.operations.read;
    let lasting_so = |ns: u64| step(stimulus.clone(), lasting(ns));
    let lasts_ns = SERVICE_NS / 4;
    let (cell, intervals) = setup.run(vec![lasting_so(10 * MS), lasting_so(lasts_ns)]).remove(1);
    let lengths_ns: Vec<_> = intervals.iter().map(|interval| interval.elapsed_ns).collect();
    assert_eq!((cell.elapsed_ns, lengths_ns), (lasts_ns, vec![lasts_ns]));
}

#[test]
fn the_next_step_begins_when_the_drain_of_a_real_queue_is_over() {
    for scale in SCALES {
        let factor = u64::from(scale);
        let setup = scaled(scale, Servers::new(1));
        let busy = || step(over(scale, reads(1, 16)), lasting(factor * 10 * MS));
        let steps: Vec<_> = setup.run(vec![busy(), idle(factor * 10 * MS), busy()]).into_iter().collect();
        let (first, pause, second) = (&steps[0].0, &steps[1].0, &steps[2].0);
        // 16 outstanding at 100 us each: 1.6 ms on either drive, of which one I/O at scale 1 is in time
        let late_ns = pause.started_ns - (first.started_ns + factor * 10 * MS);
        assert!(late_ns <= 16 * SERVICE_NS, "{scale}: {late_ns}");
        assert!(second.started_ns - pause.started_ns <= factor * 10 * MS + 1);
    }
}

#[test]
fn an_amount_counts_to_its_last_byte_at_every_scale() {
    for scale in SCALES {
        let factor = u64::from(scale);
        let setup = scaled(scale, Servers::new(1));
        // The amount is issued just before the time is over, and answered after it.
        let stop = Stop {
            amount_bytes: Some(factor * 64 * 4096),
            duration_ns: Some(factor * (60 * SERVICE_NS + 1)),
            ..Stop::default()
        };
        let cell = setup.run_one(step(over(scale, reads(1, 16)), stop));
        assert_eq!(total(&cell).ios, factor * 64);
    }
}

#[test]
fn a_step_too_short_for_any_answer_still_counts_its_drain() {
    let setup = scaled(67, Servers::new(1));
    let cell = setup.run_one(step(over(67, reads(1, 4)), lasting(67 * SERVICE_NS / 2)));
    assert_eq!((total(&cell).ios, cell.elapsed_ns), (4 * 67, 67 * 4 * SERVICE_NS));
}

#[test]
fn planned_moments_keep_their_rate_and_cycles_their_share() {
    for scale in SCALES {
        let factor = u64::from(scale);
        let fixed = over(scale, paced(1, 4, Pacing::FixedRate { ios_per_s: 5_000.0 }));
        let setup = scaled(scale, Servers::new(1));
        let cell = setup.run_one(step(fixed, lasting(factor * 100 * MS)));
        assert_eq!((total(&cell).ios, cell.unissued), (factor * 500, 0));
        let on_ns = factor * MS;
        let cycle = over(scale, paced(1, 1, Pacing::DutyCycle { on_ns, off_ns: 3 * on_ns }));
        let cell = setup.run_one(step(cycle, lasting(factor * 40 * MS)));
        assert_eq!((total(&cell).ios, cell.elapsed_ns), (factor * 100, factor * 40 * MS));
        // 200 us planned for each 100 us of service: half of them find no room.
        let slow = over(scale, paced(1, 1, Pacing::FixedRate { ios_per_s: 20_000.0 }));
        let cell = setup.run_one(step(slow, lasting(factor * 10 * MS)));
        assert_eq!((total(&cell).ios, cell.unissued), (factor * 100, factor * 100));
    }
}

#[test]
fn windows_of_a_steady_rule_are_nominal() {
    for scale in SCALES {
        let factor = u64::from(scale);
        let setup = scaled(scale, Servers::new(1));
        let window_ns = factor * 20 * MS;
        let figure = SteadyFigure::MeanLatency;
        let rule = SteadyRule { figure, window_ns, windows: 5, excursion_pct: 1.0, slope_pct: 1.0 };
        let stop = Stop { steady: Some(rule), ..Stop::default() };
        let cell = setup.run_one(step(over(scale, reads(1, 1)), stop));
        assert_eq!(cell.elapsed_ns, factor * (100 * MS + SERVICE_NS));
    }
}

#[test]
fn errors_and_their_places_are_those_of_the_nominal_drive() {
    let servers = Servers { bad_offsets: vec![8 * 4096], ..Servers::new(1) };
    let setup = open_scaled(servers, 67, &VirtualConfiguration { most_errors: 67, ..configuration() });
    let stimulus = Stimulus { random_pct: 0, ..over(67, reads(1, 1)) };
    let pass = step(stimulus, Stop { amount_bytes: Some(67 * CAPACITY), ..Stop::default() });
    let cell = setup.run_one(pass.clone());
    assert_eq!((cell.errors[0].count, &cell.errors[0].first_offsets_bytes[..]), (67, &[67 * 8 * 4096][..]));
    assert_eq!(cell.failure.unwrap().io.offset_bytes, 67 * 8 * 4096);
    assert_eq!(setup.run_one(pass).state, openpts_core::engine::StepState::Failed, "134 are more than 67");
}

#[test]
fn ranges_that_touch_still_touch_and_shares_of_them_stay_shares() {
    for scale in SCALES {
        let down = down(scale);
        let nominal_end = CAPACITY * u64::from(scale);
        let middle = nominal_end / 3 / 512 * 512;
        let part = |start, end| {
            let stimulus = Stimulus { range_start_bytes: start, range_end_bytes: end, ..reads(1, 1) };
            let stop = Stop { amount_bytes: Some(3 * (end - start)), ..Stop::default() };
            let step = down.step(&step(stimulus, stop)).step;
            let scaled = &step.streams[0].stimulus;
            let (start, end) = (scaled.range_start_bytes, scaled.range_end_bytes);
            assert_eq!(step.stop.amount_bytes, Some(3 * (end - start)), "whole passes stay whole");
            (start, end)
        };
        let (lower, upper) = (part(0, middle), part(middle, nominal_end));
        assert_eq!((lower.0, lower.1, upper.1), (0, upper.0, CAPACITY));
        assert!(lower.1.abs_diff(middle / u64::from(scale)) < 4096);
    }
}

#[test]
fn segments_and_unique_lbas_shrink_with_the_range_but_hold_a_transfer() {
    for scale in SCALES {
        let factor = u64::from(scale);
        let placed = |placement| {
            let stimulus = Stimulus { placement, ..over(scale, reads(1, 1)) };
            down(scale).step(&step(stimulus, lasting(MS))).step.streams.remove(0).stimulus.placement
        };
        let large = Placement::Segments { count: 8, bytes: factor * 64 * 1024 };
        assert_eq!(placed(large), Placement::Segments { count: 8, bytes: 64 * 1024 });
        let small = Placement::Segments { count: 670, bytes: 8192 };
        let Placement::Segments { count, bytes } = placed(small) else { panic!("another placement") };
        assert!(bytes >= 4096 && u64::from(count) * bytes <= (670 * 8192 / factor).max(4096));
        assert_eq!(
            placed(Placement::UniqueLbas { bytes: factor << 20 }),
            Placement::UniqueLbas { bytes: 1 << 20 }
        );
        let zones = Placement::Zones(vec![Zone { weight: 1, range_pct: 100.0 }]);
        assert_eq!(placed(zones.clone()), zones);
    }
}

#[test]
fn what_a_scale_leaves_no_room_for_is_refused_with_it() {
    let setup = open_scaled(Servers::new(1), 67, &configuration());
    let narrow = Stimulus { range_end_bytes: 67 * 2048, ..reads(1, 1) };
    let reason = setup.refusal(step(narrow, lasting(MS)));
    assert!(reason.contains("one simulated byte for 67"), "{reason}");
}

//! Each pacing against what it must do to the nanosecond.

use openpts_core::workload::{Pacing, Stop};

use super::super::testing::*;

#[test]
fn a_closed_loop_is_as_fast_as_the_drive() {
    let setup = open(Servers::new(4));
    let (cell, intervals) = setup.run(vec![step(reads(2, 2), lasting(50 * MS))]).remove(0);
    assert_eq!((total(&cell).ios, cell.elapsed_ns), (4 * 500, 50 * MS));
    assert_eq!(total(&cell).latency_max_ns, Some(SERVICE_NS));
    // Completions fall on the intervals' ends and belong to the time before.
    let ios: Vec<_> =
        intervals.iter().map(|interval| interval.operations.iter().map(|of| of.1.ios).sum::<u64>()).collect();
    assert_eq!(ios, [400_u64; 5]);
}

#[test]
fn a_fixed_rate_submits_on_its_grid_from_any_thread() {
    let setup = open(Servers::new(8));
    let pacing = Pacing::FixedRate { ios_per_s: 40_000.0 };
    let cell = setup.run_one(step(paced(3, 4, pacing), lasting(2 * MS)));
    let grid: Vec<u64> = (0..80).map(|index| index * 25_000).collect();
    assert_eq!(setup.submissions_ns(), grid);
    assert_eq!((total(&cell).ios, cell.unissued), (80, 0));
    assert_eq!(total(&cell).latency_max_ns, Some(SERVICE_NS));
}

#[test]
fn what_a_slow_drive_keeps_waiting_counts_from_its_planned_moment() {
    // 100 us each, planned every 50 us: the k-th ends at 100 (k + 1) us and was planned for 50 k us.
    let setup = open(Servers::new(1));
    let pacing = Pacing::FixedRate { ios_per_s: 20_000.0 };
    let cell = setup.run_one(step(paced(1, 1, pacing), lasting(10 * MS)));
    let issued = 100;
    let latencies_ns = (0..issued).map(|k| 100_000 * (k + 1) - 50_000 * k);
    assert_eq!(total(&cell).ios, issued);
    assert_eq!(total(&cell).latency_sum_ns, u128::from(latencies_ns.sum::<u64>()));
    assert_eq!(cell.unissued, 200 - issued, "of 200 planned within the time");
    assert_eq!(cell.elapsed_ns, 10 * MS);
}

#[test]
fn poisson_arrivals_have_the_count_and_variance_of_their_law() {
    let setup = open(Servers::new(64));
    let pacing = Pacing::Poisson { ios_per_s: 100_000.0 };
    let (cell, _) = setup.run(vec![step(paced(4, 64, pacing), lasting(2_000 * MS))]).remove(0);
    let expected = 200_000.0_f64;
    let ios = total(&cell).ios as f64;
    assert!((ios - expected).abs() < 5.0 * expected.sqrt(), "{ios}");
    let mut counts = vec![0_u64; 2000];
    setup.submissions_ns().into_iter().for_each(|at_ns| counts[(at_ns / MS) as usize] += 1);
    let mean = ios / 2000.0;
    let variance = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum::<f64>() / 2000.0;
    // The index of dispersion of 2000 Poisson counts is 1 +- sqrt(2 / 2000).
    assert!((variance / mean - 1.0).abs() < 5.0 * (2.0_f64 / 2000.0).sqrt(), "{variance} {mean}");
}

#[test]
fn a_burst_comes_at_once_and_again_after_its_period() {
    let setup = open(Servers::new(1));
    let pacing = Pacing::Burst { ios: 6, period_ns: MS };
    let cell = setup.run_one(step(paced(2, 8, pacing), Stop { ios: Some(18), ..Stop::default() }));
    let moments: Vec<u64> = (0..3).flat_map(|burst| [burst * MS; 6]).collect();
    assert_eq!(setup.submissions_ns(), moments);
    assert_eq!(total(&cell).latency_sum_ns, u128::from(3 * 21 * SERVICE_NS));
    assert_eq!(cell.elapsed_ns, 2 * MS + 6 * SERVICE_NS);
    // From the 600th microsecond of the first two periods on nothing was to be done.
    assert_eq!(setup.log.lock().unwrap().idle_ps, 2 * 400 * US_PS);
}

#[test]
fn a_thread_without_a_share_of_a_burst_does_nothing() {
    let setup = open(Servers::new(1));
    let pacing = Pacing::Burst { ios: 1, period_ns: MS };
    let cell = setup.run_one(step(paced(3, 1, pacing), lasting(5 * MS)));
    assert_eq!((total(&cell).ios, cell.elapsed_ns, cell.unissued), (5, 5 * MS, 0));
    assert_eq!(cell.ended_by, Some(openpts_core::engine::EndedBy::Duration));
}

#[test]
fn a_duty_cycle_issues_in_its_on_times_only() {
    // On for 1 ms of 3 ms, 100 us each: ten in a row from each edge.
    let setup = open(Servers::new(2));
    let pacing = Pacing::DutyCycle { on_ns: MS, off_ns: 2 * MS };
    let cell = setup.run_one(step(paced(1, 2, pacing), lasting(9 * MS)));
    let on: Vec<u64> = (0..3)
        .flat_map(|period| (0..10).map(move |index| period * 3 * MS + index * SERVICE_NS))
        .flat_map(|at_ns| [at_ns; 2])
        .collect();
    assert_eq!(setup.submissions_ns(), on);
    assert_eq!(cell.elapsed_ns, 9 * MS, "the last pause was asked for");
    assert_eq!(setup.log.lock().unwrap().idle_ps, 3 * 2000 * US_PS);
}

#[test]
fn an_io_that_ends_while_the_cycle_is_off_is_followed_at_the_next_edge() {
    // 100 us each, on for 250 us: the third ends 50 us after the edge.
    let setup = open(Servers::new(1));
    let pacing = Pacing::DutyCycle { on_ns: 250_000, off_ns: 750_000 };
    setup.run_one(step(paced(1, 1, pacing), lasting(2 * MS)));
    let on = [0, 100_000, 200_000, 1_000_000, 1_100_000, 1_200_000];
    assert_eq!(setup.submissions_ns(), on);
}

#[test]
fn a_slot_rests_for_its_think_time_and_its_latency_does_not_count_it() {
    let setup = open(Servers::new(4));
    let pacing = Pacing::ThinkTime { think_ns: 150_000 };
    let cell = setup.run_one(step(paced(1, 2, pacing), lasting(10 * MS)));
    let moments: Vec<u64> = (0..40).flat_map(|index| [index * 250_000; 2]).collect();
    assert_eq!(setup.submissions_ns(), moments);
    assert_eq!(total(&cell).latency_max_ns, Some(SERVICE_NS));
}

#[test]
fn a_ramp_up_counts_for_nothing_and_the_time_begins_after_it() {
    let setup = open(Servers::new(1));
    let ramped = |stop| openpts_core::workload::Step { ramp_ns: 5 * MS, ..step(reads(1, 1), stop) };
    let (cell, intervals) = setup.run(vec![ramped(lasting(20 * MS))]).remove(0);
    assert_eq!((cell.started_ns, cell.elapsed_ns), (5 * MS, 20 * MS));
    assert_eq!((total(&cell).ios, intervals.len()), (200, 2));
    let counted = setup.run_one(ramped(Stop { ios: Some(77), ..Stop::default() }));
    // The one that was issued at the very end of the ramp-up is measured, but not one of the 77.
    assert_eq!(total(&counted).ios, 78);
    assert_eq!(counted.started_ns, 30 * MS);
}

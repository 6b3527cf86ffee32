//! Steps whose I/Os are planned: they end in time, and what found no room is counted.

mod support;

use std::time::{Duration, Instant};

use openpts_core::engine::{EndedBy, Report, StepState};
use openpts_core::machine::IoPath;
use openpts_core::workload::{Operation, Pacing, SteadyFigure, SteadyRule, Step, Stop};
use support::{milliseconds, next, on_path, open, random, scratch};

fn paced(pacing: Pacing, tc: u32, qd: u32, stop: Stop) -> Step {
    let mut step = random(4096, 100, tc, qd, stop);
    step.streams[0].stimulus.pacing = pacing;
    step
}

#[test]
fn the_time_of_a_step_counts_though_its_end_is_a_pause() {
    for pacing in [
        Pacing::FixedRate { ios_per_s: 20.0 },
        Pacing::Burst { ios: 3, period_ns: 90_000_000 },
        Pacing::DutyCycle { on_ns: 5_000_000, off_ns: 300_000_000 },
    ] {
        let session = open(&scratch(), 2, 4);
        let ended = || {
            session.submit(vec![paced(pacing, 2, 4, milliseconds(200))]).unwrap();
            let (result, _) = next(&session);
            assert_eq!(result.ended_by, Some(EndedBy::Duration));
            (result.elapsed_ns.abs_diff(200_000_000), result.unissued)
        };
        // On a busy machine an I/O may be issued too late for the step, and the step end late.
        let ends: Vec<_> = (0..5).map(|_| ended()).collect();
        assert!(
            ends.iter().any(|&(off_ns, unissued)| off_ns < 50_000_000 && unissued == 0),
            "{pacing:?}: {ends:?}"
        );
    }
}

#[test]
fn a_step_that_falls_asleep_in_its_ramp_up_wakes_up_for_its_end() {
    let session = open(&scratch(), 1, 4);
    let mut step = paced(Pacing::FixedRate { ios_per_s: 0.1 }, 1, 4, milliseconds(100));
    step.ramp_ns = 50_000_000;
    let began = Instant::now();
    session.submit(vec![step]).unwrap();
    next(&session);
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[test]
fn a_rate_far_above_the_target_ends_in_time_and_is_counted() {
    for pacing in [Pacing::FixedRate { ios_per_s: 1e10 }, Pacing::Poisson { ios_per_s: 1e9 }] {
        let session = open(&scratch(), 1, 1);
        let began = Instant::now();
        session.submit(vec![paced(pacing, 1, 1, milliseconds(200))]).unwrap();
        let (result, _) = next(&session);
        assert!(began.elapsed() < Duration::from_secs(3), "{pacing:?}");
        let wanted = match pacing {
            Pacing::FixedRate { .. } => 2_000_000_000,
            _ => 200_000_000,
        };
        let planned = result.unissued + result.operations.of(Operation::Read).ios;
        assert!(planned.abs_diff(wanted) < wanted / 1000, "{pacing:?}: {planned}");
    }
}

#[test]
fn nothing_was_wanted_after_an_amount_and_everything_until_a_stop() {
    let session = open(&scratch(), 1, 1);
    let stop = Stop { ios: Some(1000), ..Stop::default() };
    let endless = paced(Pacing::FixedRate { ios_per_s: 1e7 }, 1, 1, milliseconds(60_000));
    session.submit(vec![paced(Pacing::FixedRate { ios_per_s: 1e7 }, 1, 1, stop), endless]).unwrap();
    let (counted, _) = next(&session);
    assert_eq!((counted.operations.of(Operation::Read).ios, counted.unissued), (1000, 0));
    std::thread::sleep(Duration::from_millis(100));
    session.stop();
    let (stopped, _) = next(&session);
    assert_eq!(stopped.state, StepState::Interrupted);
    assert!(stopped.unissued > 0);
}

#[test]
fn a_backlog_is_no_hanging_io() {
    let session = open(&scratch(), 1, 1);
    session.submit(vec![paced(Pacing::FixedRate { ios_per_s: 1e8 }, 1, 1, milliseconds(1500))]).unwrap();
    std::thread::sleep(Duration::from_millis(1000));
    // What is issued now was planned long ago, but the device has it only since a moment.
    let age_ns = session.oldest().map_or(0, |(age_ns, _)| age_ns);
    assert!(age_ns < 500_000_000, "{age_ns}");
    next(&session);
}

#[test]
fn a_thread_without_a_share_of_a_burst_holds_up_no_other() {
    let session = open(&scratch(), 2, 4);
    let mut stop = milliseconds(20_000);
    stop.steady = Some(SteadyRule {
        figure: SteadyFigure::Iops,
        window_ns: 100_000_000,
        windows: 2,
        excursion_pct: 100.0,
        slope_pct: 100.0,
    });
    let began = Instant::now();
    session.submit(vec![paced(Pacing::Burst { ios: 1, period_ns: 20_000_000 }, 2, 4, stop)]).unwrap();
    let (result, intervals) = next(&session);
    assert_eq!(result.ended_by, Some(EndedBy::SteadyState));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(intervals.len() >= 20);
}

#[test]
fn an_io_counts_in_the_interval_in_which_it_is_found() {
    // An I/O every 45 ms, in intervals of 10 ms: each of them is alone in its own.
    let session = open(&scratch(), 1, 1);
    let found = || -> Vec<_> {
        session
            .submit(vec![paced(Pacing::FixedRate { ios_per_s: 1e9 / 45e6 }, 1, 1, milliseconds(200))])
            .unwrap();
        let (_, intervals) = next(&session);
        (intervals.iter())
            .filter(|interval| interval.operations.of(Operation::Read).ios > 0)
            .map(|interval| interval.index)
            .collect()
    };
    // On a busy machine one may be found later than it ended.
    assert!((0..10).any(|_| found() == [0, 4, 9, 13, 18]));
}

#[test]
fn threads_without_a_part_in_a_step_leave_nothing_behind() {
    let session = on_path(&scratch(), IoPath::NoOp, 4, 1);
    let steps = 40;
    let stop = Stop { ios: Some(10), ..Stop::default() };
    session.submit((0..steps).map(|_| random(4096, 100, 1, 1, stop)).collect()).unwrap();
    for index in 0..steps {
        assert_eq!(next(&session).0.index, index);
    }
    session.stop();
    // No step is told twice, neither now nor when the collector gives up.
    while let Ok(report) = session.poll(Duration::from_secs(3)) {
        assert!(!matches!(report, Some(Report::Step(_)) | None), "{report:?}");
    }
}

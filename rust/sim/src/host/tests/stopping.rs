//! What ends a step, and what a failure or a stop leaves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use openpts_core::engine::{EndedBy, EngineError, StepState};
use openpts_core::workload::{
    BlockSize, Data, Operation, OperationWeights, Pacing, SteadyFigure, SteadyRule, Step, Stimulus, Stop,
};

use super::super::testing::counting::Counting;
use super::super::testing::*;

#[test]
fn amounts_and_numbers_of_ios_are_exact() {
    let setup = open(Servers::new(3));
    let ios = setup.run_one(step(reads(3, 5), Stop { ios: Some(1001), ..Stop::default() }));
    assert_eq!((total(&ios).ios, ios.ended_by), (1001, Some(EndedBy::Amount)));
    let amount = Stop { amount_bytes: Some(1 << 20), ..Stop::default() };
    let bytes = setup.run_one(step(reads(3, 5), amount));
    assert_eq!((total(&bytes).bytes, bytes.ended_by), (1 << 20, Some(EndedBy::Amount)));
    assert_eq!(bytes.gap_ns, Some(0), "the next step begins with the last completion");
}

#[test]
fn a_sequential_amount_of_the_range_covers_each_lba_once() {
    for tc in [1, 2, 3, 7] {
        let setup = open(Servers::new(2));
        let stimulus = Stimulus {
            random_pct: 0,
            block_sizes: vec![BlockSize::new(24 * 1024, 1)],
            ..random(tc, 4, Operation::Write)
        };
        let cell = setup.run_one(step(stimulus, Stop { amount_bytes: Some(CAPACITY), ..Stop::default() }));
        assert_eq!(total(&cell).bytes, CAPACITY);
        let log = setup.log.lock().unwrap();
        let mut places: Vec<_> = log.ios.iter().map(|(_, io)| (io.offset_bytes, io.length_bytes)).collect();
        places.sort_unstable();
        let end = places
            .iter()
            .try_fold(0, |end, (offset, length)| (*offset == end).then_some(end + u64::from(*length)));
        assert_eq!(end, Some(CAPACITY), "TC {tc}");
        assert_eq!(log.prefetched, 0, "a sequential stream is not drawn ahead");
    }
}

#[test]
fn a_step_that_has_issued_all_waits_for_answers_only() {
    let setup = open(Servers::new(1));
    let pacings = [
        Pacing::FixedRate { ios_per_s: 100.0 },
        Pacing::Burst { ios: 2, period_ns: 9 * MS },
        Pacing::DutyCycle { on_ns: MS / 2, off_ns: 9 * MS },
        Pacing::ThinkTime { think_ns: 20 * MS },
    ];
    let mut ended_ns = 0;
    for pacing in pacings {
        let stop = Stop { ios: Some(10), ..Stop::default() };
        let cell = setup.run_one(step(paced(2, 2, pacing), stop));
        assert_eq!((cell.started_ns, cell.gap_ns.unwrap_or(0)), (ended_ns, 0), "{pacing:?}");
        assert_eq!(cell.ended_by, Some(EndedBy::Amount));
        ended_ns = cell.started_ns + cell.elapsed_ns;
    }
}

#[test]
fn at_least_goes_on_beyond_an_amount() {
    let setup = open(Servers::new(1));
    let stop = Stop { ios: Some(10), at_least_ns: 5 * MS, ..Stop::default() };
    let cell = setup.run_one(step(reads(1, 1), stop));
    assert_eq!((total(&cell).ios, cell.elapsed_ns, cell.ended_by), (50, 5 * MS, Some(EndedBy::Amount)));
    let stop = Stop { duration_ns: Some(2 * MS), ..stop };
    let cell = setup.run_one(step(reads(1, 1), stop));
    assert_eq!((total(&cell).ios, cell.ended_by), (20, Some(EndedBy::Duration)));
}

#[test]
fn streams_go_on_over_steps_and_programs() {
    let setup = open(Servers::new(1));
    let sequential = Stimulus { random_pct: 0, ..reads(1, 1) };
    let few = Stop { ios: Some(10), ..Stop::default() };
    setup.run(vec![step(sequential.clone(), few), step(sequential.clone(), few)]);
    setup.run(vec![step(sequential, few)]);
    let offsets = |from: usize| -> Vec<u64> {
        setup.log.lock().unwrap().ios[from..].iter().map(|(_, io)| io.offset_bytes).collect()
    };
    assert_eq!(offsets(0), (0..30).map(|index| index * 4096).collect::<Vec<_>>());
    setup.run(vec![step(reads(1, 4), few), step(reads(1, 4), few)]);
    assert_ne!(offsets(30)[..10], offsets(40)[..], "a random stream does not repeat itself");
}

#[test]
fn a_steady_figure_ends_the_step_with_its_last_window() {
    let setup = open(Servers::new(1));
    let rule = SteadyRule {
        figure: SteadyFigure::Iops,
        window_ns: 20 * MS,
        windows: 3,
        excursion_pct: 1.0,
        slope_pct: 1.0,
    };
    let stop = Stop { steady: Some(rule), duration_ns: Some(1_000 * MS), ..Stop::default() };
    let cell = setup.run_one(step(reads(1, 1), stop));
    assert_eq!(cell.ended_by, Some(EndedBy::SteadyState));
    // The I/O that was issued when the window ended is drained.
    assert_eq!(cell.elapsed_ns, 60 * MS + SERVICE_NS);
    let later = setup.run_one(step(reads(1, 1), Stop { at_least_ns: 75 * MS, ..stop }));
    assert_eq!((later.elapsed_ns, later.ended_by), (75 * MS, Some(EndedBy::SteadyState)));
    // What is planned for the very end of the last window is issued still.
    let paced = paced(1, 1, Pacing::FixedRate { ios_per_s: 25.0 });
    let rule = SteadyRule { window_ns: 40 * MS, ..rule };
    let slow = setup.run_one(step(paced, Stop { steady: Some(rule), ..Stop::default() }));
    assert_eq!((total(&slow).ios, slow.ended_by), (4, Some(EndedBy::SteadyState)));
    let odd = SteadyRule { window_ns: 15 * MS, ..rule };
    assert!(
        setup
            .refusal(step(reads(1, 1), Stop { steady: Some(odd), ..Stop::default() }))
            .contains("not a multiple")
    );
}

#[test]
fn an_idle_step_leaves_the_drive_alone_and_no_gap_is_told_around_it() {
    let setup = open(Servers::new(1));
    let few = Stop { ios: Some(10), ..Stop::default() };
    let steps =
        setup.run(vec![step(reads(1, 1), few), idle(7 * MS), step(reads(1, 1), few), step(reads(1, 1), few)]);
    let (idle, none) = &steps[1];
    assert_eq!((idle.started_ns, idle.elapsed_ns, none.len()), (MS, 7 * MS, 0));
    assert_eq!(idle.ended_by, Some(EndedBy::Duration));
    assert_eq!(setup.log.lock().unwrap().idle_ps, 7_000 * US_PS);
    let gaps: Vec<_> = steps.iter().map(|(step, _)| step.gap_ns).collect();
    assert_eq!(gaps, [None, None, None, Some(0)]);
    assert_eq!(setup.log.lock().unwrap().entropies.len(), 3, "idle time is no step of the drive's");
}

#[test]
fn operations_are_counted_apart_and_flushes_have_no_bytes() {
    let setup = open(Servers::new(1));
    let operations = OperationWeights { read: 2, write: 3, trim: 1, flush: 1, fsync: 1 };
    let stimulus = Stimulus { operations, data: Data::Zero, ..reads(2, 4) };
    let cell = setup.run_one(step(stimulus, Stop { ios: Some(800), ..Stop::default() }));
    let counts: Vec<_> = cell.operations.iter().map(|(_, result)| (result.ios, result.bytes)).collect();
    assert_eq!(counts, [(200, 200 * 4096), (300, 300 * 4096), (100, 100 * 4096), (100, 0), (100, 0)]);
    assert_eq!(setup.log.lock().unwrap().entropies, [0.0]);
}

#[test]
fn a_session_that_goes_on_over_read_errors_ends_with_the_first_failed_write() {
    let bad_offsets: Vec<u64> = (0..1024).step_by(8).map(|page| page * 4096).collect();
    let configuration = super::super::VirtualConfiguration { over_read_errors: true, ..configuration() };
    let setup = open_scaled(Servers { bad_offsets, ..Servers::new(1) }, 1, &configuration);
    let reading = Stimulus { random_pct: 0, ..reads(1, 2) };
    let operations = OperationWeights { read: 0, write: 1, ..OperationWeights::default() };
    let writing = Stimulus { operations, ..reading.clone() };
    let stop = Stop { amount_bytes: Some(CAPACITY), ..Stop::default() };
    setup.session.submit(&vec![step(reading, stop), step(writing, stop)]).unwrap();
    let (read, _) = setup.next_step();
    assert_eq!((read.errors[0].count, total(&read).ios, read.state), (128, 896, StepState::Complete));
    let (written, _) = setup.next_step();
    assert_eq!((written.errors[0].count, written.state), (1, StepState::Failed));
}

#[test]
fn errors_up_to_the_allowed_number_are_told_and_one_more_fails_the_session() {
    let bad_offsets: Vec<u64> = (0..1024).step_by(8).map(|page| page * 4096).collect();
    for most_errors in [0, 5, 1000] {
        let servers = Servers { bad_offsets: bad_offsets.clone(), ..Servers::new(1) };
        let configuration = super::super::VirtualConfiguration { most_errors, ..configuration() };
        let setup = open_scaled(servers, 1, &configuration);
        let sequential = Stimulus { random_pct: 0, ..reads(1, 2) };
        let stop = Stop { amount_bytes: Some(CAPACITY), ..Stop::default() };
        setup.session.submit(&vec![step(sequential.clone(), stop), step(sequential.clone(), stop)]).unwrap();
        let (cell, intervals) = setup.next_step();
        let errors: u64 = intervals.iter().map(|interval| interval.errors).sum();
        assert_eq!(errors, cell.errors.iter().map(|error| error.count).sum::<u64>());
        let first = cell.failure.as_ref().unwrap();
        assert_eq!(
            (first.io.offset_bytes, first.reason.as_str(), first.at_ns),
            (0, "unreadable", SERVICE_NS)
        );
        if most_errors == 1000 {
            assert_eq!((errors, total(&cell).ios, cell.state), (128, 896, StepState::Complete));
            assert_eq!(cell.errors[0].first_offsets_bytes, bad_offsets[..16]);
            continue;
        }
        assert_eq!((errors, cell.state, cell.ended_by), (most_errors + 1, StepState::Failed, None));
        assert!(matches!(setup.session.poll(Duration::from_secs(5)), Err(EngineError::Stopped)));
        let again = setup.session.submit(&vec![step(sequential, stop)]);
        assert!(matches!(again, Err(EngineError::Stopped)));
    }
}

#[test]
fn a_stop_ends_the_step_that_runs_and_its_result_still_comes() {
    let setup = open(Servers::new(1));
    setup.session.submit(&vec![step(reads(1, 1), lasting(u64::MAX / 2)), idle(1)]).unwrap();
    while setup.session.progress().ios < 10_000 {
        std::thread::yield_now();
    }
    setup.session.stop();
    let (cell, _) = setup.next_step();
    assert_eq!((cell.state, cell.ended_by), (StepState::Interrupted, None));
    assert_eq!(cell.elapsed_ns, total(&cell).ios * SERVICE_NS, "what is outstanding is waited for");
    assert!(matches!(setup.session.poll(Duration::from_secs(5)), Err(EngineError::Stopped)));
    assert_eq!(setup.session.progress().ios, total(&cell).ios);
    assert!(setup.session.finish().unwrap().is_none());
}

#[test]
fn answers_that_wait_for_others_come_with_them_or_after_the_patience_of_the_drive() {
    let servers = Servers { group: Some((4, 300 * US_PS)), ..Servers::new(1) };
    let setup = open(servers);
    let writes = |ios| step(random(1, 4, Operation::Write), Stop { ios: Some(ios), ..Stop::default() });
    let whole = setup.run_one(writes(8));
    assert_eq!((whole.elapsed_ns, total(&whole).latency_max_ns), (2 * SERVICE_NS, Some(SERVICE_NS)));
    let rest = setup.run_one(writes(6));
    assert_eq!(rest.elapsed_ns, 2 * SERVICE_NS + 300_000, "the last two are no whole group");
}

#[test]
fn a_drive_that_never_answers_fails_the_session() {
    let setup = open(Servers { group: Some((99, u64::MAX)), ..Servers::new(1) });
    let writes = step(random(1, 4, Operation::Write), lasting(10 * MS));
    let cell = setup.run_one(writes);
    assert_eq!((cell.state, cell.errors[0].count), (StepState::Failed, 4));
    assert!(cell.errors[0].reason.contains("never answers"));
}

#[test]
fn data_that_would_have_to_be_kept_are_refused_by_name() {
    let setup = open(Servers::new(1));
    let stimulus = Stimulus { data: Data::Verified { generation: 1 }, ..reads(1, 1) };
    assert!(setup.refusal(step(stimulus, lasting(MS))).contains("verified"));
    let wide = setup.session.submit(&vec![step(reads(17, 1), lasting(MS))]);
    assert!(matches!(wide, Err(EngineError::Program(_))));
}

#[test]
fn a_capture_has_every_io_of_the_steps_that_ask_for_it() {
    let order = openpts_core::engine::CaptureOrder { files: Arc::new(Counting), lba_bytes: 512 };
    let configuration = super::super::VirtualConfiguration { capture: Some(order), ..configuration() };
    let setup = open_scaled(Servers::new(2), 1, &configuration);
    let ios =
        |ios, capture| Step { capture, ..step(reads(2, 8), Stop { ios: Some(ios), ..Stop::default() }) };
    setup.run(vec![ios(300, false), ios(5000, true), idle(MS), ios(400, false), ios(70, true)]);
    let summary = setup.session.finish().unwrap().unwrap();
    assert_eq!((summary.ios_written, summary.ios_discarded), (5070, 0));
    let by_step: Vec<_> = summary.steps.iter().map(|(step, summary)| (*step, summary.ios)).collect();
    assert_eq!(by_step, [(1, 5000), (4, 70)]);
}

#[test]
fn a_step_whose_ios_have_nowhere_to_go_is_refused() {
    let setup = open(Servers::new(1));
    let captured = Step { capture: true, ..step(reads(1, 1), lasting(MS)) };
    assert!(setup.refusal(captured).contains("opened without a capture"));
}

#[test]
fn check_refuses_what_submit_refuses_and_runs_nothing() {
    let setup = open(Servers::new(1));
    let sound = step(reads(2, 8), lasting(MS));
    let verified = Stimulus { data: Data::Verified { generation: 1 }, ..reads(1, 1) };
    for bad in [
        step(reads(17, 1), lasting(MS)),
        step(verified, lasting(MS)),
        idle(u64::MAX),
        Step { capture: true, ..sound.clone() },
    ] {
        let program = vec![sound.clone(), bad];
        let checked = setup.session.check(&program).unwrap_err().to_string();
        assert!(checked.starts_with("step 2: "), "{checked}");
        assert_eq!(setup.session.submit(&program).unwrap_err().to_string(), checked);
    }
    setup.session.check(&vec![sound]).unwrap();
    assert!(setup.session.poll(std::time::Duration::ZERO).unwrap().is_none());
    assert!(setup.log.lock().unwrap().ios.is_empty());
}

#[test]
fn a_demand_that_no_host_keeps_outstanding_is_refused() {
    let drive = Arc::clone(&open(Servers::new(1)).drive);
    let configuration = super::super::VirtualConfiguration { tc: u32::MAX, qd: 2, ..configuration() };
    let Err(refused) = super::super::VirtualSession::open(drive, &configuration) else { panic!("opened") };
    assert!(refused.to_string().starts_with("TC 4294967295 x QD 2 are more than"), "{refused}");
}

#[test]
fn what_is_random_is_drawn_ahead_and_places_stay_uniform_at_the_end_of_steps() {
    let setup = open(Servers::new(1));
    // Many short steps: what is drawn ahead and not issued must not be missed by any place.
    for _ in 0..2048 {
        setup.run_one(step(reads(1, 1), lasting(MS)));
    }
    let log = setup.log.lock().unwrap();
    assert!(log.prefetched > log.ios.len());
    let mut counts = BTreeMap::new();
    log.ios.iter().for_each(|(_, io)| *counts.entry(io.offset_bytes).or_insert(0_u64) += 1);
    assert_eq!(counts.len(), 1024);
    let mean = log.ios.len() as f64 / 1024.0;
    let squares: f64 = counts.values().map(|count| (*count as f64 - mean).powi(2) / mean).sum();
    // Chi square with 1023 degrees of freedom: mean 1023, standard deviation 45.
    assert!((squares - 1023.0).abs() < 5.0 * 45.3, "{squares}");
}

#[test]
fn a_step_that_outlasts_the_clock_is_refused() {
    let setup = open(Servers::new(1));
    assert!(setup.refusal(idle(u64::MAX)).contains("clock"));
    let ramped = Step { ramp_ns: u64::MAX, ..step(reads(1, 1), lasting(MS)) };
    assert!(setup.refusal(ramped).contains("clock"));
}

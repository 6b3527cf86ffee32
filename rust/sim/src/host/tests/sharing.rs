//! Orders to the drive, its log, and sessions that take turns.

use std::sync::Arc;
use std::time::Duration;

use openpts_core::workload::{Operation, Stop};

use super::super::VirtualSession;
use super::super::testing::*;

#[test]
fn an_order_waits_for_the_programs_before_it_and_takes_its_time() {
    let setup = open(Servers::new(1));
    let ios = Stop { ios: Some(50_000), ..Stop::default() };
    setup.session.submit(&vec![step(reads(1, 1), ios), idle(5 * MS)]).unwrap();
    let took_ns = setup.drive.purge().unwrap();
    let before_ns = 50_000 * SERVICE_NS + 5 * MS;
    assert_eq!((took_ns, setup.drive.now_ns()), (3 * MS, before_ns + 3 * MS));
    let next = {
        setup.next_step();
        setup.next_step();
        setup.run_one(step(reads(1, 1), Stop { ios: Some(1), ..Stop::default() }))
    };
    assert_eq!(next.started_ns, before_ns + 3 * MS);
}

#[test]
fn an_order_is_let_through_when_the_session_stops() {
    let setup = open(Servers::new(1));
    setup.session.submit(&vec![step(reads(1, 1), lasting(u64::MAX / 2)), idle(1)]).unwrap();
    let purging = std::thread::spawn({
        let drive = Arc::clone(&setup.drive);
        move || drive.purge().unwrap()
    });
    std::thread::sleep(Duration::from_millis(20));
    assert!(!purging.is_finished());
    setup.session.stop();
    assert_eq!(purging.join().unwrap(), 3 * MS);
}

#[test]
fn what_the_drive_refuses_is_an_error_and_takes_no_time() {
    let setup = open(Servers::new(1));
    assert_eq!(setup.drive.jump_start().unwrap_err().to_string(), "there is no steady state");
    assert!(setup.drive.set_write_cache(true).is_err());
    assert_eq!((setup.drive.write_cache(), setup.drive.flush_caches().unwrap()), (None, 0));
    assert_eq!(setup.drive.now_ns(), 0);
}

#[test]
fn the_log_can_be_read_while_a_program_runs_and_after_it() {
    let setup = open_scaled(Servers::new(1), 7, &configuration());
    let mut stimulus = random(1, 1, Operation::Write);
    stimulus.range_end_bytes = 7 * CAPACITY;
    setup.session.submit(&vec![step(stimulus, lasting(u64::MAX / 2))]).unwrap();
    let mut writes = 0;
    while writes == 0 {
        let smart = setup.drive.smart();
        assert_eq!(smart.host_write_bytes, smart.host_writes * 4096);
        assert!(smart.host_writes >= writes && smart.host_writes.is_multiple_of(7));
        writes = smart.host_writes;
    }
    setup.session.stop();
    let (cell, _) = setup.next_step();
    assert_eq!(setup.drive.smart().host_writes, total(&cell).ios);
}

#[test]
fn sessions_on_one_drive_run_their_programs_in_turn() {
    let setup = open(Servers::new(1));
    let other = VirtualSession::open(Arc::clone(&setup.drive), &configuration()).unwrap();
    let ios = Stop { ios: Some(20_000), ..Stop::default() };
    let program = vec![step(reads(1, 1), ios); 2];
    setup.session.submit(&program).unwrap();
    other.submit(&program).unwrap();
    let both = Setup { session: other, drive: Arc::clone(&setup.drive), log: Arc::clone(&setup.log) };
    let mut started: Vec<_> =
        [&setup, &both, &setup, &both].map(|setup| setup.next_step().0.started_ns).to_vec();
    started.sort_unstable();
    assert_eq!(started, (0..4).map(|index| index * 20_000 * SERVICE_NS).collect::<Vec<_>>());
    let waiting = both.session;
    setup.session.submit(&vec![step(reads(1, 1), lasting(u64::MAX / 2))]).unwrap();
    while setup.session.progress().steps_begun < 3 {
        std::thread::yield_now();
    }
    waiting.submit(&program).unwrap();
    assert!(waiting.finish().unwrap().is_none(), "one that waits for the drive can be stopped");
}

#[test]
fn a_session_that_is_dropped_gives_its_drive_back() {
    let setup = open(Servers::new(1));
    let drive = Arc::clone(&setup.drive);
    setup.session.submit(&vec![step(reads(1, 1), lasting(u64::MAX / 2)), idle(1)]).unwrap();
    drop(setup);
    assert_eq!(drive.purge().unwrap(), 3 * MS);
}

//! Equal programs have equal results, to the bit.

use std::fmt::Write as _;
use std::time::Duration;

use openpts_core::engine::Report;
use openpts_core::workload::{
    Operation, OperationWeights, Pacing, Placement, Program, Stimulus, Stop, Uniform, Zone,
};

use super::super::testing::*;

/// Everything that depends on chance: mix, places, arrivals, service times, and steps that end in between.
fn program() -> Program {
    let mixed = OperationWeights::reads_pct(65);
    let zones =
        Placement::Zones(vec![Zone { weight: 3, range_pct: 25.0 }, Zone { weight: 1, range_pct: 75.0 }]);
    vec![
        step(Stimulus { operations: mixed, ..reads(3, 16) }, lasting(40 * MS)),
        step(Stimulus { placement: zones, ..reads(4, 3) }, Stop { ios: Some(3000), ..Stop::default() }),
        idle(3 * MS),
        step(paced(2, 8, Pacing::Poisson { ios_per_s: 30_000.0 }), lasting(100 * MS)),
        step(paced(2, 8, Pacing::DutyCycle { on_ns: MS, off_ns: MS }), lasting(25 * MS)),
        step(Stimulus { random_pct: 30, ..random(2, 8, Operation::Write) }, lasting(20 * MS)),
    ]
}

fn setup() -> Setup {
    let servers = Servers { random: Some(Uniform::for_thread(3, 0)), ..Servers::new(4) };
    let configuration = super::super::VirtualConfiguration { interval_histograms: true, ..configuration() };
    open_scaled(servers, 7, &configuration)
}

/// All that a session says, and all that its drive was asked, as text.
fn transcript(setup: &Setup, mut meanwhile: impl FnMut(&Setup)) -> String {
    let mut text = String::new();
    let scaled = program().into_iter().map(|mut step| {
        for stream in &mut step.streams {
            stream.stimulus.range_end_bytes = 7 * CAPACITY;
        }
        step
    });
    let program: Program = scaled.collect();
    for _ in 0..2 {
        setup.session.submit(&program).unwrap();
        let mut steps = 0;
        while steps < program.len() {
            meanwhile(setup);
            let report = setup.session.poll(Duration::from_secs(20)).unwrap().unwrap();
            steps += usize::from(matches!(report, Report::Step(_)));
            writeln!(text, "{report:?}").unwrap();
        }
        writeln!(text, "{}", setup.drive.purge().unwrap()).unwrap();
    }
    writeln!(text, "{:?}", setup.log.lock().unwrap()).unwrap();
    text
}

#[test]
fn the_same_seed_and_program_give_the_same_bytes_whatever_is_read_meanwhile() {
    let quiet = transcript(&setup(), |_| ());
    assert!(quiet.len() > 100_000);
    let watched = transcript(&setup(), |setup| {
        let _ = (setup.drive.smart(), setup.session.progress(), setup.drive.now_ns());
    });
    assert!(quiet == watched, "reading changed something");
}

#[test]
fn sessions_of_one_process_do_not_disturb_each_other() {
    let alone = transcript(&setup(), |_| ());
    let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(|| transcript(&setup(), |_| ()))).collect();
    for thread in threads {
        assert!(thread.join().unwrap() == alone);
    }
}

#[test]
fn another_seed_gives_other_places() {
    let places = |seed| {
        let configuration = super::super::VirtualConfiguration { seed, ..configuration() };
        let setup = open_scaled(Servers::new(1), 1, &configuration);
        setup.run_one(step(reads(1, 1), Stop { ios: Some(100), ..Stop::default() }));
        let log = setup.log.lock().unwrap();
        log.ios.iter().map(|(_, io)| io.offset_bytes).collect::<Vec<_>>()
    };
    assert_eq!(places(1), places(1));
    assert_ne!(places(1), places(2));
}

//! A session that goes on where an interrupted one stopped.

mod support;

use std::collections::HashSet;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use openpts_core::engine::{Configuration, EngineError, Resumed, Session, StepResult, carried_json};
use openpts_core::machine::{IoPath, Target};
use openpts_core::workload::Step;
use support::{CAPACITY, amount, configuration, next, on_path, random, scratch, sequential_write};

const TC: u32 = 3;

/// Steps of fixed amounts, so that each thread draws as often in each session.
fn steps() -> Vec<Step> {
    vec![
        random(4096, 0, TC, 4, amount(CAPACITY / 4)),
        sequential_write(4096, TC, CAPACITY / 4),
        // one thread less: the third keeps its place
        random(8192, 50, TC - 1, 4, amount(CAPACITY / 2)),
        sequential_write(4096, TC, CAPACITY - CAPACITY / 4),
    ]
}

fn results(session: &Session, steps: Vec<Step>) -> Vec<StepResult> {
    let count = steps.len();
    session.submit(steps).unwrap();
    (0..count).map(|_| next(session).0).collect()
}

fn resumed(file: &File, path: IoPath, tc: u32, seed: u64, streams: &str) -> Result<Session, EngineError> {
    let resumed = Some(Resumed::parse(1, streams)?);
    let target = Target::duplicate(file.as_raw_fd()).unwrap();
    Session::open(target, Configuration { resumed, seed, ..configuration(path, tc, 4) })
}

#[test]
fn offsets_go_on_as_if_nothing_had_happened() {
    for path in [IoPath::Uring, IoPath::Synchronous] {
        let file = scratch();
        let undisturbed = results(&on_path(&file, path, TC, 4), steps());
        for cut in 1..steps().len() {
            let stopped_at = carried_json(&undisturbed[cut - 1].carried);
            let session = resumed(&file, path, TC, 1, &stopped_at).unwrap();
            for (late, early) in results(&session, steps().split_off(cut)).iter().zip(&undisturbed[cut..]) {
                assert_eq!(late.carried, early.carried, "{path:?} cut before step {cut}");
            }
        }
    }
}

#[test]
fn a_sequential_pass_over_the_interruption_writes_every_sector() {
    let file = scratch();
    let quarter = sequential_write(4096, 4, CAPACITY / 4);
    let before = results(&on_path(&file, IoPath::Uring, 4, 4), vec![quarter]);
    let session = resumed(&file, IoPath::Uring, 4, 1, &carried_json(&before[0].carried)).unwrap();
    results(&session, vec![sequential_write(4096, 4, CAPACITY - CAPACITY / 4)]);
    let blank = sectors(&file).filter(|sector| sector.iter().all(|byte| *byte == 0)).count();
    assert_eq!(blank, 0);
}

#[test]
fn random_data_are_not_written_again() {
    let file = scratch();
    let whole = || vec![sequential_write(4096, TC, CAPACITY)];
    let before = results(&on_path(&file, IoPath::Uring, TC, 4), whole());
    let mut seen: HashSet<_> = sectors(&file).collect();
    let session = resumed(&file, IoPath::Uring, TC, 1, &carried_json(&before[0].carried)).unwrap();
    results(&session, whole());
    assert!(sectors(&file).all(|sector| seen.insert(sector)));
}

#[test]
fn streams_of_another_run_are_refused() {
    let file = scratch();
    let streams = carried_json(&results(&on_path(&file, IoPath::Uring, TC, 4), steps())[3].carried);
    let place = streams.find("\"next\":").unwrap() + 7;
    let end = place + streams[place..].find('}').unwrap();
    let beyond = format!("{}{}{}", &streams[..place], CAPACITY * 2, &streams[end..]);
    for (tc, seed, streams) in [(TC, 2, &*streams), (TC + 1, 1, &streams), (TC, 1, "[]"), (TC, 1, &beyond)] {
        let refused = resumed(&file, IoPath::Uring, tc, seed, streams).err();
        assert!(matches!(refused, Some(EngineError::OtherStreams)), "{streams}");
    }
}

fn sectors(file: &File) -> impl Iterator<Item = Vec<u8>> {
    let mut bytes = vec![0; CAPACITY as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes.chunks(512).map(<[u8]>::to_vec).collect::<Vec<_>>().into_iter()
}

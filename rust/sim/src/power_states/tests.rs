//! Five states against times that are computed by hand.

use super::super::drive::{Answer, Drive};
use super::super::open::open;
use super::super::preset::Preset;
use super::super::scale::Scale;
use super::super::time::{PS_PER_NS, PS_PER_S, Ps};
use super::{MOST_POWER_STATES, Transition};
use openpts_core::workload::{Io, Operation};

const MS: Ps = 1_000_000 * PS_PER_NS;
const US: Ps = 1_000 * PS_PER_NS;
/// What each I/O takes of a drive that is awake.
const IO: Ps = 100 * US;

fn drive(scale: u32) -> Box<dyn Drive> {
    let state = |idle_w: f64, entry_us: u64, exit_us: u64, after_ms: u64| {
        format!(
            "[[power_states]]\nmost_w = {idle_w}\nidle_w = {idle_w}\nentry_us = {entry_us}\n\
             exit_us = {exit_us}\nafter_idle_ms = {after_ms}\n"
        )
    };
    let text = format!(
        "name = 'x'\nsummary = 'x'\ncapacity_bytes = 1048576\n[[power_states]]\nmost_w = 8.0\nidle_w = 2.0\n\
         operational = true\n{}{}{}{}[oracle.rate]\nby = 'steps'\nevery = 1\niops = [10000.0]\n",
        state(1.0, 500, 300, 10),
        state(0.5, 1_000, 2_000, 90),
        state(0.1, 5_000, 12_000, 900),
        state(0.005, 20_000, 60_000, 9_000),
    );
    let preset = Preset::parse(&text).unwrap();
    open(&preset, 1 << 20, Scale::new(scale).unwrap(), 1).unwrap()
}

/// Latency of a read at a moment.
fn read(drive: &mut dyn Drive, at_ps: Ps) -> Ps {
    match drive.submit(&Io::new(Operation::Read, 0, 4096), 0, at_ps) {
        Answer::Known(completion) => completion.at_ps - at_ps,
        Answer::Deferred => panic!("a script knows its answers"),
    }
}

#[test]
fn the_first_io_waits_for_the_exit_of_the_state_that_idle_time_has_led_to() {
    let mut drive = drive(1);
    let mut now = read(&mut *drive, 0);
    // Entered 10.5, 101.5, 1006.5 and 10026.5 ms after the last I/O.
    for (idle, exit) in [
        (9 * MS, 0),
        (11 * MS, 300 * US),
        (100 * MS, 300 * US),
        (102 * MS, 2 * MS),
        (1_001 * MS, 2 * MS),
        (1_007 * MS, 12 * MS),
        (10_006 * MS, 12 * MS),
        (10_027 * MS, 60 * MS),
        (600_000 * MS, 60 * MS),
    ] {
        now += idle;
        let latency = read(&mut *drive, now);
        assert_eq!(latency, exit + IO, "after {} ms", idle / MS);
        now += latency;
    }
}

#[test]
fn an_io_that_comes_while_a_state_is_entered_waits_for_that_as_well() {
    let mut drive = drive(1);
    let end = read(&mut *drive, 0);
    // The last state is entered from 10006.5 ms on, for 20 ms.
    assert_eq!(read(&mut *drive, end + 10_010 * MS + 500 * US), 16 * MS + 60 * MS + IO);
}

#[test]
fn a_commanded_state_lasts_until_the_next_io_and_without_transitions_no_other_comes() {
    let mut drive = drive(1);
    let mut now = read(&mut *drive, 0);
    drive.set_autonomous(false, &[Transition::default(); MOST_POWER_STATES], now).unwrap();
    for (state, exit) in [(3, 12 * MS), (1, 300 * US), (4, 60 * MS), (0, 0)] {
        drive.command_power_state(state, now).unwrap();
        assert_eq!(drive.power().unwrap().1.state, state);
        for exit in [exit, 0] {
            now += 60 * PS_PER_S;
            let latency = read(&mut *drive, now);
            assert_eq!(latency, exit + IO, "state {state}");
            now += latency;
        }
    }
    assert!(drive.command_power_state(5, now).is_err());
}

#[test]
fn a_scaled_drive_has_shorter_idle_times_and_the_same_latencies() {
    let mut drive = drive(10);
    let end = read(&mut *drive, 0);
    // Idle times of 1, 9 and 90 ms between the entries.
    let first = read(&mut *drive, end + 2 * MS);
    assert_eq!(first, 300 * US + IO);
    assert_eq!(read(&mut *drive, end + 2 * MS + first + 12 * MS), 2 * MS + IO);
}

#[test]
fn energy_is_that_of_the_states_over_time_and_of_the_work() {
    let mut drive = drive(1);
    let end = read(&mut *drive, 0);
    let at = end + 2_000 * MS;
    let expected = 8.0 * 1e-4 + 2.0 * 0.0105 + 1.0 * 0.091 + 0.5 * 0.905 + 0.1 * (2.0 - 1.0065);
    assert!((drive.spent(at).energy_j.unwrap() - expected).abs() < 1e-9);
    // Leaving takes the power of the state that follows.
    let latency = read(&mut *drive, at);
    let busy = 8.0 * 1e-4 + 2.0 * 0.012;
    let now = at + latency;
    assert!((drive.spent(now).energy_j.unwrap() - expected - busy).abs() < 1e-9);
}

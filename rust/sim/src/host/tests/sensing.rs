//! What intervals tell of the drive's sensor.

use openpts_core::workload::{Pacing, Stop};

use super::super::testing::*;
use crate::smart::Sensed;
use crate::time::Ps;

/// A degree for each millisecond; the drive throttles from 25 ms to 27 ms and from 48 ms on.
fn sensor(now_ps: Ps) -> Sensed {
    let now_ms = now_ps / (1000 * MS);
    Sensed {
        temperature_c: i32::try_from(now_ms).unwrap(),
        throttles: (25..27).contains(&now_ms) || now_ms >= 48,
        throttle_events: u64::from(now_ms >= 25) + u64::from(now_ms >= 48),
    }
}

fn warm() -> Servers {
    Servers { sensor: Some(sensor), ..Servers::new(1) }
}

#[test]
fn an_interval_tells_the_temperature_at_its_end_and_whether_the_drive_throttled_in_it() {
    let setup = open(warm());
    let steps = setup.run(vec![step(reads(1, 1), lasting(50 * MS)), step(reads(1, 1), lasting(15 * MS))]);
    let told: Vec<Vec<_>> = steps
        .iter()
        .map(|(_, intervals)| {
            intervals.iter().map(|interval| (interval.temperature_c, interval.throttled)).collect()
        })
        .collect();
    let all = |told: &[(i32, bool)]| -> Vec<_> {
        told.iter().map(|(temperature_c, throttled)| (Some(*temperature_c), Some(*throttled))).collect()
    };
    assert_eq!(told[0], all(&[(10, false), (20, false), (30, true), (40, false), (50, true)]));
    // The last interval of a step is as long as the step goes on.
    assert_eq!(told[1], all(&[(60, true), (65, true)]));
}

#[test]
fn intervals_without_io_tell_it_as_well() {
    let setup = open(warm());
    let pacing = Pacing::DutyCycle { on_ns: 5 * MS, off_ns: 25 * MS };
    let (_, intervals) = setup.run(vec![step(paced(1, 1, pacing), lasting(40 * MS))]).remove(0);
    let told: Vec<_> = intervals.iter().map(|interval| interval.temperature_c.unwrap()).collect();
    assert_eq!(told, [10, 20, 30, 40]);
}

#[test]
fn a_drive_without_a_sensor_tells_nothing() {
    let setup = open(Servers::new(1));
    let stop = Stop { ios: Some(1000), ..Stop::default() };
    let (_, intervals) = setup.run(vec![step(reads(1, 1), stop)]).remove(0);
    assert_eq!(intervals.len(), 10);
    assert!(intervals.iter().all(|interval| (interval.temperature_c, interval.throttled) == (None, None)));
}

//! What idle time and a change of pattern do for a drive that is full of random writes.

use super::*;
use crate::preset::Frontiers;

const DIES: f64 = 64.0;
/// Pages that the flash programs in a second if it does nothing else.
const FRESH_PER_S: f64 = DIES * 24.0 / 2880e-6;

#[test]
#[ignore = "seconds: make test-full has it"]
fn bursts_after_idle_time_climb_a_staircase() {
    // A burst of 5 s after idle time I is fast for as long as what was collected lasts:
    // (I - delay) (1 - v) / v, with v the valid share of a victim.
    const SCALE: u32 = 68;
    const BURST_S: f64 = 5.0;
    let virtual_ps = |nominal_s: f64| (nominal_s * PS_PER_S as f64 / f64::from(SCALE)) as Ps;
    let preset = preset(ENTERPRISE, |model| model.controller.housekeeping = None);
    let mut bench = Bench::new(&preset, preset.capacity_bytes / PAGE / u64::from(SCALE), SCALE);
    bench.drive.jump_start().expect("greedy collection has a steady state");
    let mut next = random(Operation::Write, bench.pages(), 3);
    bench.run(256, 100_000, &mut next);
    let before = bench.drive.smart();
    let baseline = bench.run(256, 200_000, &mut next).per_s();
    let valid = 1.0 - 1.0 / bench.amplification_since(&before);
    for idle_s in [5.0, 7.0, 10.0, 15.0, 25.0] {
        let mut rates = Vec::new();
        for _ in 0..4 {
            bench.idle(virtual_ps(idle_s));
            let until_ps = bench.now_ps + virtual_ps(BURST_S);
            let run = bench.run_until(256, u64::MAX, until_ps, &mut next);
            rates.push(run.latencies_ps.len() as f64 / (virtual_ps(BURST_S) as f64 / PS_PER_S as f64));
        }
        let rate = rates[1..].iter().sum::<f64>() / 3.0;
        let fast_s = ((idle_s - 1.0) * (1.0 - valid) / valid).min(BURST_S);
        let theory = (fast_s * FRESH_PER_S + (BURST_S - fast_s) * baseline) / BURST_S;
        let off = (rate / theory - 1.0) * 100.0;
        println!("{idle_s} s idle: {rate:.0}/s, {off:+.1} % of {theory:.0}/s (baseline {baseline:.0}/s)");
        assert!(off.abs() < 6.0);
    }
    bench.run(256, 400_000, &mut next);
    let after = bench.run(256, 200_000, &mut next).per_s();
    println!("back at {after:.0}/s");
    assert!((after / baseline - 1.0).abs() < 0.02);
}

/// Drive writes until sequential writing after random writing stays above 93 % of its fresh speed, averaged
/// over a fifth of a drive write: an erase of a whole real superblock shows in less.
fn recovered_after(frontiers: Frontiers) -> f64 {
    let preset = preset(ENTERPRISE, |model| {
        model.collection.frontiers = frontiers;
        model.controller.housekeeping = None;
    });
    let mut fresh = Bench::new(&preset, ONE_ROW_PAGES, 1);
    fresh.fill();
    let fresh = fresh.fill().per_s();
    let mut bench = Bench::new(&preset, ONE_ROW_PAGES, 1);
    bench.drive.jump_start().expect("greedy collection has a steady state");
    bench.run(256, ONE_ROW_PAGES, random(Operation::Write, ONE_ROW_PAGES, 3));
    let mut next = sequential(Operation::Write, 32, ONE_ROW_PAGES);
    let steps = ONE_ROW_PAGES / 32 / 20;
    let rates: Vec<f64> = (0..80).map(|_| bench.run(32, steps, &mut next).per_s() / fresh).collect();
    println!("{frontiers:?}: {:.2?}", &rates[..60]);
    let slow = rates.windows(4).rposition(|window| window.iter().sum::<f64>() < 4.0 * 0.93);
    slow.map_or(0.0, |last| (last + 4) as f64 / 20.0)
}

#[test]
fn sequential_writing_recovers_after_one_drive_write_if_frontiers_are_separate() {
    let (separate, mixed) = (recovered_after(Frontiers::Separate), recovered_after(Frontiers::Mixed));
    println!("recovered after {separate:.2} and {mixed:.2} drive writes");
    assert!((1.0..=1.15).contains(&separate));
    assert!(mixed > 1.5);
}

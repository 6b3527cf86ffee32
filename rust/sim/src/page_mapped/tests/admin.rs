//! Purges that work and that don't, worn-out drives, and presets that make no sense.

use super::*;
use crate::open;
use crate::preset::Wear;

#[test]
fn a_purge_forgets_all_and_takes_its_erases() {
    let mut preset = preset(ENTERPRISE, |model| model.nand.rows_per_erase = 1);
    let mut bench = Bench::new(&preset, ONE_ROW_PAGES, 1);
    bench.fill();
    bench.idle(PS_PER_S / 10);
    let used = ONE_ROW_PAGES.div_ceil(64 * 24);
    let done_ps = bench.drive.purge(bench.now_ps).expect("it works");
    assert_eq!(done_ps - bench.now_ps, used * 8_000_000_000);
    bench.now_ps = done_ps;
    let smart = bench.drive.smart();
    assert_eq!((smart.mapped_pages, smart.erases), (0, used));
    let fresh = bench.fill().per_s();
    assert!((fresh / Bench::new(&preset, ONE_ROW_PAGES, 1).fill().per_s() - 1.0).abs() < 0.01);
    for (purge, refused) in [(Purge::Absent, true), (Purge::Fails, true), (Purge::Lies, false)] {
        preset.purge = purge;
        let mut bench = Bench::new(&preset, 100_000, 1);
        bench.fill();
        assert_eq!(bench.drive.purge(bench.now_ps).is_err(), refused);
        assert_eq!(bench.drive.smart().mapped_pages, 100_000);
    }
}

#[test]
fn a_worn_out_drive_refuses_writes_and_still_reads() {
    let wear = Wear { mean_erases: 10.0, deviation_share: 0.1, rated_erases: 8.0 };
    let mut bench = Bench::new(&preset(ENTERPRISE, |model| model.wear = Some(wear)), 100_000, 1);
    let mut next = random(Operation::Write, 100_000, 1);
    let mut rounds = 0;
    while bench.run(64, 10_000, &mut next).errors == 0 {
        rounds += 1;
        assert!(rounds < 500, "cells that last for ever");
    }
    let smart = bench.drive.smart();
    println!("{rounds} rounds, {:.0} % used, {:?}", smart.percentage_used, smart.erase_counts);
    assert!(smart.read_only && smart.bad_superblocks > 0 && smart.available_spare_pct == 0.0);
    assert!(smart.percentage_used > 80.0);
    assert_eq!(bench.run(64, 1000, &mut next).errors, 1000);
    assert_eq!(bench.run(64, 1000, random(Operation::Read, 100_000, 1)).errors, 0);
    assert_eq!(bench.drive.smart().host_writes, smart.host_writes);
}

#[test]
fn larger_drives_of_a_family_have_more_dies() {
    for (capacity_bytes, factor, dies) in [
        (512_110_190_592, 640, 4.0),
        (1_024_209_543_168, 640, 8.0),
        (2_048_408_248_320, 640, 16.0),
        (1 << 34, 16, 4.0),
    ] {
        let preset = preset(CLIENT, |_| {});
        let scale = Scale::new(factor).expect("at least 1");
        let drive = open(&preset, capacity_bytes / u64::from(factor), scale, 1).expect("a sound preset");
        assert!(drive.geometry().contains(&("dies", dies)), "{:?}", drive.geometry());
    }
}

#[test]
fn a_jump_start_leaves_nothing_of_the_past() {
    let errors = crate::preset::MediaErrors {
        base: 1e-5,
        per_erase: 0.0,
        power: 1.0,
        per_age: 1e-3,
        age_hours: 1.0,
        per_read: 0.0,
        tiers: vec![1e-4],
        retry_us: 500.0,
        uncorrectable_chance: 0.0,
    };
    let preset = preset(ENTERPRISE, |model| model.media_errors = Some(errors));
    let mut bench = Bench::new(&preset, 100_000, 1);
    bench.drive.jump_start().expect("a new drive");
    bench.drive.jump_start().expect("once more, so that all cells are worn");
    let read_us = |bench: &mut Bench| {
        let run = bench.run(1, 1000, random(Operation::Read, 100_000, 1));
        run.mean_us()
    };
    let fresh = read_us(&mut bench);
    bench.idle(1000 * 3600 * PS_PER_S);
    let aged = read_us(&mut bench);
    assert!(aged > fresh + 400.0, "{fresh} us, and {aged} us when data are old");
    bench.drive.jump_start().expect("again");
    let again = read_us(&mut bench);
    assert!((again - fresh).abs() < 50.0, "{fresh} us, and {again} us");
}

//! Blocks that wear out.

use super::*;
use crate::theory::lifetime_drive_writes;

const MEAN: f64 = 300.0;
const UNITS: u64 = 400;
/// A log of a block for each eight units, as the card has one for each 64.
const WEARING: LogBlock = LogBlock {
    log_pages_per_unit: 8,
    wear: Some(Wear { mean_erases: MEAN, deviation_share: 0.05, rated_erases: 200.0 }),
    spare_share: 0.05,
    ..PARTS
};

/// Write the drive in sequence until it refuses; gives the drive and the pages that it took.
fn lived(parts: &LogBlock) -> (LogBlockDrive, u64) {
    let mut drive = drive(parts, UNITS);
    let pages = UNITS * u64::from(parts.unit_pages);
    let (mut now_ps, mut taken) = (0, 0);
    loop {
        let Answer::Known(answer) = drive.submit(&write(taken % pages, 32), 0, now_ps) else {
            panic!("a log-block drive defers no answer")
        };
        if let Some(error) = answer.error {
            assert!(error.contains("read-only"), "{error}");
            return (drive, taken);
        }
        now_ps = answer.at_ps;
        taken += 32;
    }
}

#[test]
fn a_drive_lives_as_long_as_the_formula_says() {
    let (drive, taken) = lived(&WEARING);
    let drive_writes = taken as f64 / (UNITS * u64::from(WEARING.unit_pages)) as f64;
    let in_use = UNITS as f64 * (1.0 + f64::from(WEARING.log_pages_per_unit) / 64.0);
    let spare = (in_use * WEARING.spare_share).round();
    let blocks = in_use + spare;
    // In sequence each unit is merged once in a drive write, and the log passes once through: two erases.
    let theory = lifetime_drive_writes(MEAN, MEAN * 0.05, spare / blocks, blocks / UNITS as f64, 2.0);
    assert!((drive_writes / theory - 1.0).abs() < 0.01, "{drive_writes} drive writes, {theory} expected");
    let smart = drive.smart();
    assert!(smart.read_only && drive.is_read_only());
    assert_eq!((f64::from(smart.bad_superblocks), smart.available_spare_pct), (spare, 0.0));
    assert!((smart.percentage_used / (smart.erase_counts.mean / 2.0) - 1.0).abs() < 1e-12);
    assert_eq!(smart.host_write_bytes, taken * PAGE_BYTES, "what was refused counts for nothing");
    let spread = f64::from(smart.erase_counts.max - smart.erase_counts.min);
    assert!(spread <= 3.0 * MEAN * 0.05, "{:?}", smart.erase_counts);
}

#[test]
fn a_read_only_drive_still_reads() {
    let (mut drive, _) = lived(&WEARING);
    let now_ps = 3_600_000 * crate::time::PS_PER_S;
    assert!(end_of_submitted(&mut drive, &io(Operation::Read, 0, 32), now_ps) > now_ps);
    assert_eq!(drive.smart().mapped_pages, UNITS * u64::from(WEARING.unit_pages));
}

#[test]
fn without_a_wear_model_nothing_wears_out() {
    let mut drive = drive(&PARTS, 4);
    let pages = 4 * u64::from(PARTS.unit_pages);
    run(&mut drive, 0, (0..20_000).map(|n| write(n * 32 % pages, 32)));
    let smart = drive.smart();
    assert!(smart.erases > 10_000 && !smart.read_only);
    assert_eq!((smart.available_spare_pct, smart.percentage_used), (100.0, 0.0));
}

//! Whether a small drive has the curve of a large one: as many superblocks of fewer rows, or fewer of them.

use super::*;

/// Where the curve is looked at, in drive writes.
const MARKS: [f64; 5] = [0.5, 1.5, 2.0, 3.0, 4.0];
/// Over how much of a drive write a rate is taken: an erase, which a small drive has but a few times in a
/// drive write, must not weigh.
const WINDOW: f64 = 0.4;

/// Rates of 4 KiB random writes from fresh on.
fn curve(superblocks: u32, pages: u64) -> Vec<f64> {
    let preset = preset(ENTERPRISE, |model| {
        model.geometry.superblocks = superblocks;
        model.controller.housekeeping = None;
    });
    let mut bench = Bench::new(&preset, pages, 1);
    let mut next = random(Operation::Write, pages, 5);
    let part = |share: f64| (pages as f64 * share) as u64;
    let mut written = 0;
    MARKS
        .iter()
        .map(|mark| {
            let from = part(mark - WINDOW / 2.0);
            bench.run(256, from - written, &mut next);
            written = from + part(WINDOW);
            bench.run(256, part(WINDOW), &mut next).per_s()
        })
        .collect()
}

#[test]
#[ignore = "seconds: make test-full has it"]
fn rates_at_equal_drive_writes_do_not_depend_on_the_capacity() {
    let of_one_row = curve(600, ONE_ROW_PAGES);
    // Free superblocks are a larger share of 300: theory has 1 % more moves for that.
    for (superblocks, pages, most_pct) in
        [(600, 2 * ONE_ROW_PAGES, 1.5), (300, ONE_ROW_PAGES, 2.5), (1200, 2 * ONE_ROW_PAGES, 1.5)]
    {
        let rates = curve(superblocks, pages);
        for ((mark, rate), reference) in MARKS.iter().zip(&rates).zip(&of_one_row) {
            let off = (rate / reference - 1.0) * 100.0;
            println!(
                "{superblocks} superblocks, {pages} pages, {mark} drive writes: {rate:.0}/s, {off:+.2} %"
            );
            assert!(off.abs() < most_pct);
        }
    }
}

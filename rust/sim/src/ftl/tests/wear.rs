//! Superblocks that wear out.

use openpts_core::workload::Uniform;

use super::super::testing::model;
use super::super::{Ftl, ReadOnly, Timeless};
use crate::preset::Wear;
use crate::theory::lifetime_drive_writes;

const USER_PAGES: u32 = 30_000;
/// Erases that superblocks live, on average: so many that the first program, which no erase precedes, counts little.
const MEAN: f64 = 400.0;

/// Drive writes until the first write fails, and the write amplification over life.
fn live(ftl: &mut Ftl, mut next: impl FnMut(u64) -> u32) -> (f64, f64) {
    let mut writes = 0_u64;
    while ftl.write(next(writes), 8, &mut Timeless).is_ok() {
        writes += 1;
    }
    ftl.check_consistency();
    let pages = ftl.counters();
    (writes as f64 / f64::from(USER_PAGES), pages.total() as f64 / pages.host as f64)
}

#[test]
#[ignore = "seconds: make test-full has it"]
fn a_drive_lives_as_long_as_the_formula_says() {
    for deviation_share in [0.02, 0.05] {
        for random_writes in [false, true] {
            let mut model = model(1.28, 1200);
            super::one_die(&mut model);
            model.wear = Some(Wear { mean_erases: MEAN, deviation_share, rated_erases: 100.0 });
            let mut ftl = Ftl::new(&model, USER_PAGES, 11).unwrap();
            let (_, new_spare) = ftl.spare();
            let mut random = Uniform::for_thread(1, 0);
            let (found, amplification) = live(&mut ftl, |write| {
                if random_writes {
                    random.below(u64::from(USER_PAGES)) as u32
                } else {
                    (write % u64::from(USER_PAGES)) as u32
                }
            });
            let layout = *ftl.layout();
            let theory = lifetime_drive_writes(
                MEAN,
                MEAN * deviation_share,
                f64::from(new_spare) / f64::from(layout.superblocks),
                layout.physical_per_user,
                amplification,
            );
            let what = format!("deviation {deviation_share}, random {random_writes}");
            assert!((found / theory - 1.0).abs() < 0.01, "{what}: {found} drive writes, {theory} expected");
            assert_eq!((ftl.spare().0, ftl.bad_superblocks()), (0, new_spare));
            assert!(ftl.is_read_only());
            assert_eq!(ftl.write(0, 8, &mut Timeless), Err(ReadOnly));
            let counts = ftl.erase_counts();
            let spread = f64::from(counts.max - counts.min);
            assert!(spread <= 3.0 * MEAN * deviation_share, "{what}: {counts:?}");
            assert!(ftl.lookup(17).is_some(), "data stay readable");
        }
    }
}

#[test]
fn a_drive_that_can_not_collect_is_refused() {
    let refused = Ftl::new(&model(1.0, 400), 400_000, 1).unwrap_err();
    assert!(refused.0.contains("physical_per_user"), "{refused}");
}

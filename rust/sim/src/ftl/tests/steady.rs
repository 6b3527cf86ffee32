//! Steady states against theory.

use openpts_core::workload::Uniform;

use super::super::testing::model;
use super::super::{Ftl, Timeless};
use super::{amplification, fill_in_order, ftl, one_die};
use crate::preset::{Frontiers, Pace, PageMapped, Reduction, Victim};
use crate::theory::{Transient, TwoClasses, expected, mapped_share_under_trims, of_policy, write_at_random};

/// A drive of one die, and the over-provisioning that the superblocks really give.
fn drive(over_provisioning: f64, pages: u32, superblocks: u32, victim: Victim) -> (PageMapped, u32) {
    let mut model = model(1.0 + over_provisioning, superblocks);
    one_die(&mut model);
    model.collection.victim = victim;
    let user_pages = (f64::from(pages * superblocks) / (1.0 + over_provisioning)) as u32;
    (model, user_pages)
}

fn assert_within(found: f64, expected: f64, tolerance: f64, what: &str) {
    let deviation = found / expected - 1.0;
    assert!(deviation.abs() < tolerance, "{what}: {found:.4}, expected {expected:.4} ({deviation:+.4})");
}

/// The write amplification after a jump: of the first tenth of a drive write, and later.
fn after_jump(ftl: &mut Ftl) -> (f64, f64) {
    let user_pages = ftl.layout().user_pages;
    let mut random = Uniform::for_thread(7, 0);
    ftl.jump_start(8).unwrap();
    let first = amplification(ftl, user_pages / 10, &mut random);
    write_at_random(ftl, user_pages / 2, &mut random).unwrap();
    let later = amplification(ftl, 2 * user_pages, &mut random);
    ftl.check_consistency();
    (first, later)
}

#[test]
#[ignore = "seconds: make test-full has it"]
fn greedy_collection_is_as_theory_has_it_from_the_jump_on() {
    for over_provisioning in [0.07, 0.125, 0.28] {
        for (pages, superblocks) in [(64, 4096), (64, 8192), (256, 2048), (1024, 300), (1024, 800)] {
            let (mut model, user_pages) = drive(over_provisioning, pages, superblocks, Victim::Greedy);
            let mixed = pages == 256;
            model.collection.pace = if superblocks == 800 || mixed { Pace::Burst } else { Pace::Paced };
            model.collection.frontiers = if mixed { Frontiers::Mixed } else { Frontiers::Separate };
            let mut ftl = ftl(&model, user_pages);
            let (first, later) = after_jump(&mut ftl);
            let theory = expected(&ftl, &model);
            let what = format!("{over_provisioning}, {superblocks} superblocks of {pages}");
            assert_within(later, theory, 0.005, &what);
            assert_within(first, theory, 0.01, &format!("{what}, at once"));
        }
    }
}

#[test]
fn other_policies_are_as_theory_has_them() {
    for over_provisioning in [0.07, 0.125, 0.28] {
        for victim in [1, 2, 5, 10].map(Victim::Choices).into_iter().chain([Victim::Fifo]) {
            let pages = if victim == Victim::Fifo { 256 } else { 64 };
            let (model, user_pages) = drive(over_provisioning, pages, 4096, victim);
            let mut ftl = ftl(&model, user_pages);
            let (_, later) = after_jump(&mut ftl);
            let what = format!("{over_provisioning}, {victim:?}");
            assert_within(later, expected(&ftl, &model), 0.005, &what);
        }
    }
}

/// The space that takes part, over user space, when victims hold what an amplification implies.
fn taking_part(ftl: &Ftl, amplification: f64) -> f64 {
    ftl.layout().physical_per_user - ftl.empty_per_user(1.0 - 1.0 / amplification)
}

#[test]
#[ignore = "seconds: make test-full has it"]
fn hot_and_cold_pages_in_one_frontier_are_as_theory_has_them() {
    for (over_provisioning, writes) in [(0.07, 0.8), (0.125, 0.9), (0.28, 0.8)] {
        let classes = TwoClasses { writes, space: 1.0 - writes };
        for (victim, pages, superblocks) in [(Victim::Fifo, 256, 2048), (Victim::Choices(10), 32, 8192)] {
            let (mut model, user_pages) = drive(over_provisioning, pages, superblocks, victim);
            model.collection.frontiers = Frontiers::Mixed;
            let mut ftl = ftl(&model, user_pages);
            fill_in_order(&mut ftl);
            let mut random = Uniform::for_thread(3, 0);
            let hot = (f64::from(user_pages) * classes.space) as u32;
            let mut write = |ftl: &mut Ftl, count: u32| {
                for _ in 0..count {
                    let (from, pages) =
                        if random.unit() < writes { (0, hot) } else { (hot, user_pages - hot) };
                    let page = from + random.below(u64::from(pages)) as u32;
                    ftl.write(page, 8, &mut Timeless).unwrap();
                }
            };
            write(&mut ftl, 8 * user_pages);
            let before = ftl.counters();
            write(&mut ftl, 6 * user_pages);
            let after = ftl.counters();
            let found = (after.total() - before.total()) as f64 / (after.host - before.host) as f64;
            let alpha = taking_part(&ftl, found);
            let theory = match victim {
                Victim::Fifo => classes.oldest_first(alpha),
                _ => classes.choices(alpha, pages, 10),
            };
            assert_within(found, theory, 0.005, &format!("{over_provisioning}, {writes}, {victim:?}"));
        }
    }
}

#[test]
fn trims_give_their_space_to_collection() {
    for trims in [0.1, 0.2, 0.3] {
        let (model, user_pages) = drive(0.07, 256, 1024, Victim::Greedy);
        let mut ftl = ftl(&model, user_pages);
        fill_in_order(&mut ftl);
        let mut random = Uniform::for_thread(5, 0);
        let mut mapped: Vec<u32> = (0..user_pages).collect();
        let mut at: Vec<u32> = (0..user_pages).collect();
        let mut request = |ftl: &mut Ftl| {
            if random.unit() < trims && !mapped.is_empty() {
                // Of what is mapped, as in the model of the formula.
                let page = mapped.swap_remove(random.below(mapped.len() as u64) as usize);
                at[page as usize] = u32::MAX;
                ftl.trim(page);
            } else {
                let page = random.below(u64::from(user_pages)) as u32;
                if at[page as usize] == u32::MAX {
                    at[page as usize] = 0;
                    mapped.push(page);
                }
                ftl.write(page, 8, &mut Timeless).unwrap();
            }
        };
        (0..10 * user_pages).for_each(|_| request(&mut ftl));
        let before = ftl.counters();
        (0..4 * user_pages).for_each(|_| request(&mut ftl));
        let after = ftl.counters();
        let found = (after.total() - before.total()) as f64 / (after.host - before.host) as f64;
        let share = mapped_share_under_trims(trims);
        assert_within(f64::from(ftl.mapped_pages()) / f64::from(user_pages), share, 0.01, "mapped");
        let theory = of_policy(Victim::Greedy, taking_part(&ftl, found) / share, 256);
        assert_within(found, theory, 0.01, &format!("trims {trims}"));
    }
}

#[test]
fn a_part_of_the_drive_after_a_purge_has_the_rest_as_spare() {
    let (model, user_pages) = drive(0.07, 1024, 400, Victim::Greedy);
    let mut ftl = ftl(&model, user_pages);
    ftl.jump_start(8).unwrap();
    assert!(ftl.purge() > 300);
    let active = user_pages / 4 * 3;
    let mut random = Uniform::for_thread(5, 0);
    let mut write = |ftl: &mut Ftl, count: u32| {
        for _ in 0..count {
            let page = random.below(u64::from(active)) as u32;
            ftl.write(page, 8, &mut Timeless).unwrap();
        }
    };
    (0..active).for_each(|page| ftl.write(page, 8, &mut Timeless).unwrap());
    write(&mut ftl, 4 * active);
    let before = ftl.counters();
    write(&mut ftl, 3 * active);
    let after = ftl.counters();
    let found = (after.total() - before.total()) as f64 / (after.host - before.host) as f64;
    let theory = of_policy(Victim::Greedy, taking_part(&ftl, found) / 0.75, 1024);
    assert_within(found, theory, 0.01, "75 %");
}

#[test]
fn reduced_data_leave_the_rest_as_spare() {
    for units in [2, 5, 7, 8] {
        let (mut model, user_pages) = drive(0.107, 512, 400, Victim::Greedy);
        model.reduction = Some(Reduction { floor: 0.0, slope: 1.0 });
        let mut ftl = ftl(&model, user_pages);
        ftl.jump_start(units).unwrap();
        let mut random = Uniform::for_thread(5, 0);
        let mut written = 0_u64;
        let mut write = |ftl: &mut Ftl, count: u32| {
            for _ in 0..count {
                let page = random.below(u64::from(user_pages)) as u32;
                ftl.write(page, units, &mut Timeless).unwrap();
                written += 1;
            }
        };
        write(&mut ftl, user_pages);
        let before = ftl.counters();
        write(&mut ftl, 2 * user_pages);
        let after = ftl.counters();
        let found = (after.total() - before.total()) as f64 / f64::from(2 * user_pages);
        let size = f64::from(units) / 8.0;
        let alpha = taking_part(&ftl, found / size) / size;
        let theory = size * of_policy(Victim::Greedy, alpha, (512.0 / size) as u32);
        assert_within(found, theory, 0.01, &format!("{units} of 8 units"));
        ftl.check_consistency();
    }
}

#[test]
fn the_way_to_the_steady_state_is_that_of_the_mean_field() {
    for (over_provisioning, draws) in [(0.28, 5), (0.125, 3)] {
        let (model, user_pages) = drive(over_provisioning, 64, 8192, Victim::Choices(draws));
        let mut ftl = ftl(&model, user_pages);
        fill_in_order(&mut ftl);
        let mut random = Uniform::for_thread(9, 0);
        // Collection begins when nothing but the reserve is left.
        let before = ftl.erases();
        while ftl.erases() == before {
            write_at_random(&mut ftl, 32, &mut random).unwrap();
        }
        let _ = amplification(&mut ftl, user_pages / 2, &mut random);
        let found = amplification(&mut ftl, user_pages / 2, &mut random);
        let alpha = taking_part(&ftl, found);
        let mut theory = Transient::after_random_overwrites(alpha, 64, draws);
        theory.advance(0.5, 2e-3);
        let expected = theory.advance(0.5, 2e-3);
        assert_within(found, expected, 0.01, &format!("{over_provisioning}, {draws} choices"));
    }
}

#[test]
fn the_way_to_the_steady_state_does_not_depend_on_the_size() {
    // Equal numbers of superblocks, four times as many pages: one row instead of four.
    let curve = |user_pages: u32, superblocks: u32| {
        let mut model = model(1.28, superblocks);
        model.geometry.program_unit_pages = 4;
        let mut ftl = ftl(&model, user_pages);
        let mut random = Uniform::for_thread(2, 0);
        let mut rest = Vec::new();
        for step in 0..12 {
            let found = amplification(&mut ftl, user_pages / 3, &mut random);
            if step >= 4 {
                rest.push(found);
            }
        }
        rest
    };
    let reference = curve(600_000, 600);
    for (user_pages, superblocks) in [(150_000, 600), (300_000, 300), (600_000, 2400)] {
        let layout_of = curve(user_pages, superblocks);
        for (found, expected) in layout_of.iter().zip(&reference) {
            assert_within(
                *found,
                *expected,
                0.015,
                &format!("{user_pages} pages, {superblocks} superblocks"),
            );
        }
    }
}

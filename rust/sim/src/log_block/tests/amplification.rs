use super::*;

/// Programmed pages for each of the host's, over so many random single-page writes.
fn amplification(map: &mut Map, random: &mut Uniform, writes: u64) -> f64 {
    let before = map.moved_pages();
    for _ in 0..writes {
        map.append(random.below(map.pages()));
    }
    1.0 + (map.moved_pages() - before) as f64 / writes as f64
}

#[test]
fn random_writing_follows_the_formula() {
    let mut random = Uniform::for_thread(8, 0);
    for (unit_pages, units, log_pages_per_unit, writes, share) in [
        (64, 400, 1, 800_000, 0.005),
        (64, 1000, 4, 2_000_000, 0.004),
        (128, 500, 16, 3_000_000, 0.002),
        (1024, 200, 32, 4_000_000, 0.002),
        (16_384, 60, 64, 2_000_000, 0.002),
        (16_384, 477, 256, 6_000_000, 0.002),
    ] {
        let mut map = Map::new(units * unit_pages, unit_pages as u32, log_pages_per_unit);
        map.jump_start(&mut random);
        let formula = 1.0 + unit_pages as f64 / (1.0 + f64::from(log_pages_per_unit));
        assert_within(amplification(&mut map, &mut random, writes), formula, share);
    }
}

#[test]
fn a_long_run_from_a_fresh_drive_ends_where_the_jump_start_begins() {
    let mut random = Uniform::for_thread(9, 0);
    let mut map = Map::new(300 * 64, 64, 2);
    for page in 0..300 * 64 {
        map.append(page);
    }
    amplification(&mut map, &mut random, 100_000);
    assert_within(amplification(&mut map, &mut random, 1_500_000), 1.0 + 64.0 / 3.0, 0.004);
}

#[test]
fn the_first_writes_after_a_jump_start_are_in_steady_state() {
    // Averaged over drives: a unit alone has a cycle of 5 log lengths, so the mean must not depend on time.
    let mut random = Uniform::for_thread(10, 0);
    let mut first = 0.0;
    for _ in 0..200 {
        let mut map = Map::new(100 * 64, 64, 4);
        map.jump_start(&mut random);
        first += amplification(&mut map, &mut random, 100) / 200.0;
    }
    assert_within(first, 1.0 + 64.0 / 5.0, 0.02);
}

#[test]
fn rewriting_in_order_merges_each_unit_once_a_pass() {
    for (units, log_pages_per_unit) in [(8_u64, 64), (40, 16), (100, 1)] {
        let mut map = Map::new(units * 64, 64, log_pages_per_unit);
        let log_passes = u64::from(log_pages_per_unit).div_ceil(64) + 1;
        let pass = |map: &mut Map| (0..units * 64).for_each(|page| _ = map.append(page));
        (0..log_passes).for_each(|_| pass(&mut map));
        for _ in 0..3 {
            let (merges, moved) = (map.merges(), map.moved_pages());
            pass(&mut map);
            assert_eq!(map.merges() - merges, units);
            assert_eq!(map.moved_pages() - moved, units * 64);
        }
    }
}

#[test]
fn only_pages_with_data_are_moved() {
    let mut map = Map::new(64 * 64, 64, 1);
    // One page of each unit, over and over: a merge moves this one.
    for k in 0..64 * 10_u64 {
        assert!(map.append(k % 64 * 64).merged_pages.is_none_or(|pages| pages == 1));
    }
    assert!(map.merges() > 0);
    (0..64).for_each(|unit| map.trim(unit * 64));
    let merges = map.merges();
    (0..64).for_each(|_| _ = map.pad());
    assert_eq!(map.merges(), merges, "a unit without data needs no merge");
}

#[test]
fn a_padded_log_can_be_written_on() {
    let mut map = Map::new(64 * 64, 64, 1);
    (0..1000).for_each(|_| assert_eq!(map.pad().merged_pages, None));
    assert!(map.append(5).merged_pages.is_none());
    assert_eq!(map.mapped_pages(), 1);
}

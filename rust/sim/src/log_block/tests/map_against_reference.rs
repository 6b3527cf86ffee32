use std::collections::{HashMap, VecDeque};

use super::*;

/// A log-block map, written down naively: each page of the log with the number of its write.
#[derive(Default)]
struct Reference {
    log_pages: usize,
    log: VecDeque<(u64, Option<u64>)>,
    writes: u64,
    /// Number of the newest write of each page that holds data.
    newest: HashMap<u64, u64>,
    /// Writes before the last merge of each unit.
    merged_at: HashMap<u64, u64>,
}

const UNIT_PAGES: u64 = 16;

impl Reference {
    /// Gives the pages that a merge moves.
    fn push(&mut self, page: Option<u64>) -> Option<u32> {
        let moved = if self.log.len() == self.log_pages { self.pop() } else { None };
        self.log.push_back((self.writes, page));
        if let Some(page) = page {
            self.newest.insert(page, self.writes);
        }
        self.writes += 1;
        moved
    }

    fn pop(&mut self) -> Option<u32> {
        let (number, page) = self.log.pop_front()?;
        let unit = page? / UNIT_PAGES;
        let pages = self.newest.keys().filter(|page| *page / UNIT_PAGES == unit).count() as u32;
        if pages == 0 || self.merged_at.get(&unit).is_some_and(|merged_at| number < *merged_at) {
            return None;
        }
        self.merged_at.insert(unit, self.writes);
        Some(pages)
    }

    /// The newest copy of each page is in the log, or was moved by a merge.
    fn assert_nothing_is_lost(&self) {
        let oldest = self.log.front().map_or(0, |(number, _)| *number);
        for (page, number) in &self.newest {
            let merged_at = self.merged_at.get(&(page / UNIT_PAGES)).copied().unwrap_or(0);
            assert!(*number >= oldest || *number < merged_at, "page {page} of write {number}");
        }
    }
}

#[test]
fn the_map_agrees_with_a_naive_one() {
    for (units, log_pages_per_unit) in [(7_u64, 1), (12, 5), (3, 40)] {
        let pages = units * UNIT_PAGES;
        let mut map = Map::new(pages, UNIT_PAGES as u32, log_pages_per_unit);
        let mut reference = Reference { log_pages: map.log_pages(), ..Reference::default() };
        let mut random = Uniform::for_thread(units, 0);
        let (mut written, mut moved) = (0, 0);
        for k in 0..20_000_u64 {
            let page = random.below(pages);
            match random.below(20) {
                0 => {
                    map.trim(page);
                    reference.newest.remove(&page);
                }
                1 => {
                    let merged = map.pad().merged_pages;
                    assert_eq!(merged, reference.push(None), "padding {k}");
                    moved += u64::from(merged.unwrap_or(0));
                }
                _ => {
                    let merged = map.append(page).merged_pages;
                    assert_eq!(merged, reference.push(Some(page)), "write {k}");
                    written += 1;
                    moved += u64::from(merged.unwrap_or(0));
                }
            }
            if k % 64 == 0 {
                reference.assert_nothing_is_lost();
                assert_eq!(map.mapped_pages(), reference.newest.len() as u64);
                assert!((0..pages).all(|page| map.is_mapped(page) == reference.newest.contains_key(&page)));
            }
        }
        assert_eq!(map.moved_pages(), moved);
        assert!(moved > 5_000 && written > 10_000, "{moved} pages beside {written}");
    }
}

#[test]
fn each_block_is_erased_as_often_as_it_is_filled_anew() {
    let mut map = Map::new(10 * UNIT_PAGES, UNIT_PAGES as u32, 8);
    let mut random = Uniform::for_thread(1, 0);
    (0..80 * 25).for_each(|_| _ = map.append(random.below(10 * UNIT_PAGES)));
    let (units, log_blocks) = map.blocks().erases().split_at(10);
    assert_eq!(units.iter().map(|erases| u64::from(*erases)).sum::<u64>(), map.merges());
    // The log of 80 pages was filled 25 times; its first filling needed no erase.
    assert_eq!(log_blocks, [24; 5]);
    let before = map.blocks().erases().to_vec();
    assert_eq!(map.purge(), 15);
    assert!(map.blocks().erases().iter().zip(before).all(|(after, before)| *after == before + 1));
}

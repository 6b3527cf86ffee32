//! The part of the map that a controller without memory of its own keeps at hand.

use openpts_core::workload::Uniform;

/// User pages in a page of the map: 4 bytes each.
const PAGES_SHIFT: u32 = 10;
const ABSENT: u32 = u32::MAX;

/// Pages of the map, of which a random one makes room: uniform reads find theirs with the chance of
/// coverage over span.
pub(super) struct MapCache {
    /// The place of each map page.
    place_of: Box<[u32]>,
    /// The map page in each place.
    held: Box<[u32]>,
    random: Uniform,
}

impl MapCache {
    pub(super) fn new(user_pages: u32, coverage_bytes: u64, seed: u64) -> Self {
        let map_pages = (user_pages >> PAGES_SHIFT) as usize + 1;
        let places = (coverage_bytes >> (PAGES_SHIFT + 12)).clamp(1, map_pages as u64) as usize;
        Self {
            place_of: vec![ABSENT; map_pages].into_boxed_slice(),
            held: vec![ABSENT; places].into_boxed_slice(),
            random: Uniform::for_session(seed),
        }
    }

    /// Whether the entry of a page is at hand; if not, it is from now on. Gives what has to be read for it.
    #[inline]
    pub(super) fn miss(&mut self, lpn: u32) -> Option<u32> {
        let map_page = lpn >> PAGES_SHIFT;
        if self.place_of[map_page as usize] != ABSENT {
            return None;
        }
        let place = self.random.below(self.held.len() as u64) as usize;
        let before = std::mem::replace(&mut self.held[place], map_page);
        if before != ABSENT {
            self.place_of[before as usize] = ABSENT;
        }
        self.place_of[map_page as usize] = place as u32;
        Some(map_page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_reads_miss_what_coverage_leaves_of_the_span() {
        // 1 GiB at hand: of a span of 4 GiB, three reads of four miss; of a span of 1/2 GiB, none do.
        let mut random = Uniform::for_thread(1, 0);
        for (span_pages, expected) in [(1 << 20, 0.75), (1 << 17, 0.0)] {
            let mut cache = MapCache::new(1 << 20, 1 << 30, 7);
            let mut draw =
                |n| (0..n).filter(|_| cache.miss(random.below(span_pages) as u32).is_some()).count();
            draw(100_000);
            let share = draw(100_000) as f64 / 1e5;
            assert!((share - expected).abs() < 0.005, "{span_pages} pages: {share}");
        }
    }

    #[test]
    fn sequential_reads_miss_once_a_map_page() {
        let mut cache = MapCache::new(1 << 20, 1 << 22, 7);
        assert_eq!((0..1 << 20).filter(|lpn| cache.miss(*lpn).is_some()).count(), 1 << 10);
    }
}

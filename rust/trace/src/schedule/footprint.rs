//! Which granules of an address space are touched.

use std::collections::BTreeMap;

/// Granules of a page: 4 GiB where a granule has 64 KiB.
const PAGE_WORDS: usize = 1024;
const PAGE_GRANULES: u64 = PAGE_WORDS as u64 * 64;

/// A sparse set of granules. Memory is for what is touched, not for how far apart it is.
#[derive(Clone, Debug)]
pub struct Footprint {
    granule_bytes: u64,
    pages: BTreeMap<u64, Box<[u64; PAGE_WORDS]>>,
}

impl Footprint {
    /// Nothing is touched.
    #[must_use]
    pub fn new(granule_bytes: u64) -> Self {
        Self { granule_bytes, pages: BTreeMap::new() }
    }

    /// Touch what these bytes are in; `end` is behind them.
    pub fn touch(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let last = (end - 1) / self.granule_bytes;
        let mut granule = start / self.granule_bytes;
        loop {
            let page = self
                .pages
                .entry(granule / PAGE_GRANULES)
                .or_insert_with(|| vec![0; PAGE_WORDS].try_into().expect("a page"));
            let stop = last.min(granule / PAGE_GRANULES * PAGE_GRANULES + PAGE_GRANULES - 1);
            while granule <= stop {
                let (word, bit) = ((granule % PAGE_GRANULES / 64) as usize, granule % 64);
                let bits = (stop - granule + 1).min(64 - bit);
                page[word] |= (u64::MAX >> (64 - bits)) << bit;
                granule += bits;
            }
            if stop == last {
                return;
            }
        }
    }

    /// Bytes of all that is touched.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bits =
            |page: &[u64; PAGE_WORDS]| page.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        self.pages.values().map(|page| bits(page)).sum::<u64>() * self.granule_bytes
    }

    /// Ranges of touched bytes, in order, none adjacent to the next.
    pub fn ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (number, page) in &self.pages {
            for (word, bits) in page.iter().enumerate() {
                let mut bits = *bits;
                while bits != 0 {
                    let from = u64::from(bits.trailing_zeros());
                    let length = u64::from((bits >> from).trailing_ones());
                    let start = (number * PAGE_GRANULES + word as u64 * 64 + from) * self.granule_bytes;
                    let end = start + length * self.granule_bytes;
                    match ranges.last_mut() {
                        Some(last) if last.1 == start => last.1 = end,
                        _ => ranges.push((start, end)),
                    }
                    bits = if from + length == 64 { 0 } else { bits >> (from + length) << (from + length) };
                }
            }
        }
        ranges
    }
}

/// How many granules are touched before one, and how many runs of them begin.
#[derive(Debug)]
pub(super) struct Ranks {
    pages: BTreeMap<u64, RankedPage>,
    pub(super) granules: u64,
    pub(super) runs: u64,
    /// Behind the last one that is touched.
    pub(super) end: u64,
}

#[derive(Debug)]
struct RankedPage {
    touched: Box<[u64; PAGE_WORDS]>,
    starts: Box<[u64]>,
    granules_before: Box<[u64]>,
    runs_before: Box<[u64]>,
}

impl Ranks {
    pub(super) fn of(footprint: Footprint) -> Self {
        let mut ranks = Self { pages: BTreeMap::new(), granules: 0, runs: 0, end: 0 };
        let mut before = None;
        for (number, touched) in footprint.pages {
            let mut page = RankedPage {
                touched,
                starts: vec![0; PAGE_WORDS].into(),
                granules_before: vec![0; PAGE_WORDS].into(),
                runs_before: vec![0; PAGE_WORDS].into(),
            };
            // Whether the granule before the page is touched.
            let mut carry = u64::from(before == Some(number * PAGE_GRANULES));
            for word in 0..PAGE_WORDS {
                let bits = page.touched[word];
                page.starts[word] = bits & !(bits << 1 | carry);
                carry = bits >> 63;
                (page.granules_before[word], page.runs_before[word]) = (ranks.granules, ranks.runs);
                ranks.granules += u64::from(bits.count_ones());
                ranks.runs += u64::from(page.starts[word].count_ones());
                if bits != 0 {
                    ranks.end =
                        number * PAGE_GRANULES + word as u64 * 64 + 64 - u64::from(bits.leading_zeros());
                }
            }
            before = (carry > 0).then_some((number + 1) * PAGE_GRANULES);
            ranks.pages.insert(number, page);
        }
        ranks
    }

    /// Touched granules before this one, and runs that begin before it or with it; none if it is not touched.
    pub(super) fn of_granule(&self, granule: u64) -> Option<(u64, u64)> {
        let page = self.pages.get(&(granule / PAGE_GRANULES))?;
        let (word, bit) = ((granule % PAGE_GRANULES / 64) as usize, granule % 64);
        if page.touched[word] >> bit & 1 == 0 {
            return None;
        }
        let below = (1 << bit) - 1;
        let granules = page.granules_before[word] + u64::from((page.touched[word] & below).count_ones());
        let runs = page.runs_before[word] + u64::from((page.starts[word] & (below << 1 | 1)).count_ones());
        Some((granules, runs))
    }
}

//! A log-linear histogram of latencies in nanoseconds.
//!
//! Every octave above 2048 ns is cut into 1024 buckets, below it every nanosecond has its own: a bucket
//! is never wider than 1/1024 of the values in it, which bounds the relative error at 0.098 %. The
//! buckets are those of an HdrHistogram of three significant digits, so that its encodings hold the
//! same counts without loss. Minimum, maximum and sum are kept exactly beside the buckets.

use std::ops::RangeInclusive;

/// Values below this have a bucket each.
const LINEAR_VALUES: u64 = 2048;
/// Buckets per octave above it.
const BUCKETS_PER_OCTAVE: u32 = 1024;
/// log2 of `BUCKETS_PER_OCTAVE`.
const OCTAVE_SHIFT: u32 = BUCKETS_PER_OCTAVE.trailing_zeros();
/// Values from 2^43 ns (2.4 hours) on share the last bucket; minimum, maximum and sum stay exact.
const HIGHEST_BIT: u32 = 43;
/// Largest value that has a bucket of its own width.
pub(super) const HIGHEST_VALUE_NS: u64 = (1 << HIGHEST_BIT) - 1;

pub(super) const BUCKET_COUNT: usize = bucket_index(HIGHEST_VALUE_NS) + 1;
/// Buckets are kept in pages, one for each octave, of which most distributions touch but a few.
const PAGE_BUCKETS: usize = BUCKETS_PER_OCTAVE as usize;
const PAGES: usize = BUCKET_COUNT / PAGE_BUCKETS;

type Page = [u64; PAGE_BUCKETS];

/// A non-empty bucket: the values from `lowest_ns` to `highest_ns`, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest latency that falls into the bucket.
    pub lowest_ns: u64,
    /// Largest latency that falls into the bucket.
    pub highest_ns: u64,
    /// Number of latencies counted.
    pub count: u64,
}

/// What the buckets alone tell of the latencies in them, each from the least to the most that it can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Smallest latency.
    pub min_ns: RangeInclusive<u64>,
    /// Largest latency.
    pub max_ns: RangeInclusive<u64>,
    /// Sum of all.
    pub sum_ns: RangeInclusive<u128>,
}

/// Counts of latencies in ns, with exact extremes and sum.
///
/// It takes memory for the octaves that were counted in, and keeps it: hundreds of threads with several
/// histograms each stay small.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    pages: [Option<Box<Page>>; PAGES],
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { pages: [const { None }; PAGES], count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl LatencyHistogram {
    /// Count one latency.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.record_n(latency_ns, 1);
    }

    /// Count the same latency `count` times.
    #[inline]
    pub fn record_n(&mut self, latency_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        let index = bucket_index(latency_ns.min(HIGHEST_VALUE_NS));
        self.page_mut(index / PAGE_BUCKETS)[index % PAGE_BUCKETS] += count;
        self.count += count;
        self.sum_ns += u128::from(latency_ns) * u128::from(count);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Count in the bucket of this number, or in the last one, as an encoding tells it: extremes are those of the
    /// buckets, and the sum is that of their middles.
    pub(super) fn count_in_bucket(&mut self, index: usize, count: u64) {
        if count > 0 {
            let index = index.min(BUCKET_COUNT - 1);
            self.page_mut(index / PAGE_BUCKETS)[index % PAGE_BUCKETS] += count;
            let (lowest_ns, highest_ns) = (lowest_value(index), lowest_value(index + 1) - 1);
            self.count += count;
            self.sum_ns += u128::from(lowest_ns.midpoint(highest_ns)) * u128::from(count);
            (self.min_ns, self.max_ns) = (self.min_ns.min(lowest_ns), self.max_ns.max(highest_ns));
        }
    }

    /// Add another histogram's counts to this one's.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        for (number, page) in other.touched() {
            self.page_mut(number).iter_mut().zip(page).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Forget everything, keeping the memory; costs as much as the span of values that was recorded.
    pub fn clear(&mut self) {
        if self.count == 0 {
            return;
        }
        let span = self.span();
        self.pages[span].iter_mut().flatten().for_each(|page| page.fill(0));
        self.count = 0;
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// Number of latencies recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact sum of all latencies.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Exact smallest latency; `None` if empty.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_ns)
    }

    /// Exact largest latency; `None` if empty.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// Latency that at least `percentile` per cent of the values do not exceed: the upper end of the
    /// bucket that holds the value of that rank, but never more than the exact maximum. 0 if empty.
    #[must_use]
    pub fn value_at_percentile(&self, percentile: f64) -> u64 {
        let rank = rank_of(percentile, self.count);
        let mut seen = 0;
        for bucket in self.buckets() {
            seen += bucket.count;
            if seen >= rank {
                return bucket.highest_ns.min(self.max_ns);
            }
        }
        0
    }

    /// The non-empty buckets in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        self.counts().map(|(index, count)| Bucket {
            lowest_ns: lowest_value(index),
            highest_ns: lowest_value(index + 1) - 1,
            count,
        })
    }

    /// Number and count of the non-empty buckets, ascending.
    pub(super) fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        let counts = self.touched().flat_map(|(number, page)| {
            page.iter().enumerate().map(move |(place, count)| (number * PAGE_BUCKETS + place, *count))
        });
        counts.filter(|(_, count)| *count > 0)
    }

    /// For each limit, which ascend, the number of latencies in buckets that end at or below it.
    #[expect(clippy::cast_precision_loss)]
    pub fn counts_up_to(&self, limits_ns: impl IntoIterator<Item = f64>) -> Vec<u64> {
        let mut buckets = self.buckets().peekable();
        let mut seen = 0;
        let up_to = |limit_ns: f64| {
            while let Some(bucket) = buckets.next_if(|bucket| bucket.highest_ns as f64 <= limit_ns) {
                seen += bucket.count;
            }
            seen
        };
        limits_ns.into_iter().map(up_to).collect()
    }

    /// Within what extremes and sum must lie, by the buckets; `None` if empty.
    #[must_use]
    pub fn bounds(&self) -> Option<Bounds> {
        let mut bounds: Option<Bounds> = None;
        for bucket in self.buckets() {
            // the last bucket holds whatever is longer, too
            let is_last = bucket.highest_ns == HIGHEST_VALUE_NS;
            let range = bucket.lowest_ns..=if is_last { u64::MAX } else { bucket.highest_ns };
            let sum = |value_ns: u64, before: u128| {
                before.saturating_add(u128::from(value_ns) * u128::from(bucket.count))
            };
            let (min_ns, least, most) = match bounds {
                None => (range.clone(), 0, 0),
                Some(before) => (before.min_ns, *before.sum_ns.start(), *before.sum_ns.end()),
            };
            let sum_ns = sum(*range.start(), least)..=sum(*range.end(), most);
            bounds = Some(Bounds { min_ns, max_ns: range, sum_ns });
        }
        bounds
    }

    #[inline]
    fn page_mut(&mut self, number: usize) -> &mut Page {
        self.pages[number].get_or_insert_with(new_page)
    }

    /// The pages that may hold a count.
    fn span(&self) -> RangeInclusive<usize> {
        let page_of = |value_ns: u64| bucket_index(value_ns.min(HIGHEST_VALUE_NS)) / PAGE_BUCKETS;
        page_of(self.min_ns)..=page_of(self.max_ns)
    }

    fn touched(&self) -> impl Iterator<Item = (usize, &Page)> {
        let span = if self.count == 0 { 0..=0 } else { self.span() };
        span.filter_map(|number| self.pages[number].as_deref().map(|page| (number, page)))
    }
}

#[cold]
fn new_page() -> Box<Page> {
    Box::new([0; PAGE_BUCKETS])
}

/// The 1-based rank of a percentile among `count` sorted values.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
#[must_use]
pub fn rank_of(percentile: f64, count: u64) -> u64 {
    // A percentile such as 99.9 has no exact binary form; without the slack, 99.9 % of 1000 values
    // would come out as rank 1000 instead of 999.
    let exact = percentile.clamp(0.0, 100.0) / 100.0 * count as f64;
    ((exact * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64).clamp(1, count.max(1))
}

#[inline]
const fn bucket_index(value_ns: u64) -> usize {
    if value_ns < LINEAR_VALUES {
        return value_ns as usize;
    }
    let shift = value_ns.ilog2() - OCTAVE_SHIFT;
    ((shift as u64 * BUCKETS_PER_OCTAVE as u64) + (value_ns >> shift)) as usize
}

#[inline]
const fn lowest_value(index: usize) -> u64 {
    let index = index as u64;
    if index < LINEAR_VALUES {
        return index;
    }
    let shift = index / BUCKETS_PER_OCTAVE as u64 - 1;
    (index - shift * BUCKETS_PER_OCTAVE as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The value of that rank in the sorted list: the oracle for every percentile.
    fn exact_percentile(sorted: &[u64], percentile: f64) -> u64 {
        sorted[usize::try_from(rank_of(percentile, sorted.len() as u64)).unwrap() - 1]
    }

    #[test]
    fn buckets_tile_the_values_without_gap_or_overlap() {
        for index in 0..BUCKET_COUNT {
            let lowest = lowest_value(index);
            let next = lowest_value(index + 1);
            assert!(next > lowest);
            assert_eq!(bucket_index(lowest), index);
            assert_eq!(bucket_index(next - 1), index);
            // Reporting the upper end of a bucket is off by at most its width.
            assert!((next - 1 - lowest) as f64 <= 0.001 * lowest as f64, "bucket {index} is too wide");
        }
    }

    #[test]
    fn ranks_follow_the_definition_where_binary_fractions_would_not() {
        assert_eq!(rank_of(99.9, 1000), 999);
        assert_eq!(rank_of(99.999, 100_000), 99_999);
        assert_eq!(rank_of(99.999_999_9, 1_000_000_000), 999_999_999);
        assert_eq!(rank_of(100.0, 7), 7);
        assert_eq!(rank_of(0.0, 7), 1);
    }

    #[test]
    fn a_latency_beyond_the_last_bucket_keeps_its_exact_maximum() {
        let mut histogram = LatencyHistogram::default();
        histogram.record(u64::MAX / 2);
        assert_eq!(histogram.max_ns(), Some(u64::MAX / 2));
        assert_eq!(histogram.count(), 1);
        let bounds = histogram.bounds().unwrap();
        assert!(bounds.max_ns.contains(&(u64::MAX / 2)) && bounds.sum_ns.contains(&histogram.sum_ns()));
        assert_eq!(LatencyHistogram::default().bounds(), None);
    }

    proptest! {
        #[test]
        fn percentiles_are_within_a_thousandth_of_the_sorted_list(
            mut values in prop::collection::vec(prop_oneof![0..5_000u64, 0..HIGHEST_VALUE_NS], 1..400),
            percentile in prop_oneof![Just(50.0), Just(99.0), Just(99.999), 0.0..100.0],
        ) {
            let mut histogram = LatencyHistogram::default();
            for value in &values {
                histogram.record(*value);
            }
            values.sort_unstable();
            let exact = exact_percentile(&values, percentile);
            let found = histogram.value_at_percentile(percentile);
            prop_assert!(found >= exact);
            prop_assert!((found - exact) as f64 <= 0.001 * exact as f64);
            prop_assert_eq!(histogram.min_ns(), values.first().copied());
            prop_assert_eq!(histogram.max_ns(), values.last().copied());
            prop_assert_eq!(histogram.sum_ns(), values.iter().map(|v| u128::from(*v)).sum::<u128>());
            prop_assert_eq!(histogram.count(), values.len() as u64);
            let bounds = histogram.bounds().unwrap();
            prop_assert!(bounds.min_ns.contains(&values[0]));
            prop_assert!(bounds.max_ns.contains(values.last().unwrap()));
            prop_assert!(bounds.sum_ns.contains(&histogram.sum_ns()));
        }

        #[test]
        fn merging_equals_recording_everything_in_one(
            left in prop::collection::vec(0..10_000_000u64, 0..200),
            right in prop::collection::vec(0..10_000_000u64, 0..200),
        ) {
            let record_all = |values: &[u64]| {
                let mut histogram = LatencyHistogram::default();
                values.iter().for_each(|value| histogram.record(*value));
                histogram
            };
            let mut merged = record_all(&left);
            merged.add(&record_all(&right));
            let whole = record_all(&[left, right].concat());
            prop_assert_eq!(merged.buckets().collect::<Vec<_>>(), whole.buckets().collect::<Vec<_>>());
            prop_assert_eq!(merged.sum_ns(), whole.sum_ns());
            prop_assert_eq!((merged.min_ns(), merged.max_ns()), (whole.min_ns(), whole.max_ns()));
        }

        #[test]
        fn clearing_leaves_nothing_behind(values in prop::collection::vec(0..HIGHEST_VALUE_NS, 0..100)) {
            let mut histogram = LatencyHistogram::default();
            values.iter().for_each(|value| histogram.record(*value));
            histogram.clear();
            prop_assert_eq!(histogram.buckets().count(), 0);
            prop_assert_eq!(histogram.max_ns(), None);
        }
    }
}

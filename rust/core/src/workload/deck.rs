//! Weighted choices that come out exactly, in random order.

use super::random::Uniform;

/// Most cards of a deck, so that even a short step sees the whole of it.
pub(super) const MOST_CARDS: u64 = 10_000;

/// Deals kinds like cards: every run through the deck holds each kind exactly as often as its weight,
/// divided by what all weights have in common, says. A coin thrown for each I/O would miss a 65/35 mix by
/// some per cent in a short step.
#[derive(Clone, Debug)]
pub struct Deck<T> {
    cards: Vec<T>,
    dealt: usize,
}

impl<T: Copy> Deck<T> {
    /// A deck of these kinds and weights, whose sum after division by what they have in common is no more than
    /// 10,000.
    ///
    /// # Panics
    /// If all weights are 0.
    pub fn new(kinds: impl IntoIterator<Item = (T, u32)>) -> Self {
        let kinds: Vec<_> = kinds.into_iter().collect();
        let divisor = common_divisor(kinds.iter().map(|(_, weight)| *weight)).max(1);
        let cards: Vec<T> = kinds
            .into_iter()
            .flat_map(|(kind, weight)| std::iter::repeat_n(kind, (weight / divisor) as usize))
            .collect();
        assert!(!cards.is_empty(), "weights are checked before a deck is made");
        Self { cards, dealt: 0 }
    }

    /// The next card. Each is drawn from those that are left (a Fisher-Yates shuffle, one exchange at a
    /// time), so no I/O waits while a whole deck is shuffled.
    ///
    /// # Panics
    /// Never: a deck has cards.
    #[inline]
    pub fn deal(&mut self, random: &mut Uniform) -> T {
        let count = self.cards.len();
        if count == 1 {
            return self.cards[0];
        }
        let left = (count - self.dealt) as u64;
        let chosen = self.dealt + usize::try_from(random.below(left)).expect("less than the deck");
        self.cards.swap(self.dealt, chosen);
        let card = self.cards[self.dealt];
        self.dealt = if left == 1 { 0 } else { self.dealt + 1 };
        card
    }
}

/// The number of cards that a deck of these weights has: their sum after division by what they have in
/// common; 0 if all are 0.
pub(super) fn cards_of(weights: impl Iterator<Item = u32> + Clone) -> u64 {
    let divisor = u64::from(common_divisor(weights.clone())).max(1);
    weights.map(u64::from).sum::<u64>() / divisor
}

fn common_divisor(weights: impl Iterator<Item = u32>) -> u32 {
    weights.fold(0, |mut a, mut b| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::chi_square_p;
    use proptest::prelude::*;

    // proves: PTS-TOOL-06
    #[test]
    fn every_hundred_holds_the_exact_share_of_reads() {
        let mut random = Uniform::for_thread(1, 0);
        for read_pct in [0, 5, 35, 50, 65, 95, 100] {
            let mut deck = Deck::new([(true, read_pct), (false, 100 - read_pct)]);
            for _ in 0..20 {
                let reads = (0..100).filter(|_| deck.deal(&mut random)).count();
                assert_eq!(reads, read_pct as usize);
            }
        }
    }

    #[test]
    fn the_order_is_random() {
        let mut random = Uniform::for_thread(1, 0);
        let mut deck = Deck::new([(true, 1), (false, 1)].map(|(kind, weight)| (kind, weight * 499)));
        assert_eq!(deck.cards.len(), 2, "499 to 499 is one to one");
        deck = Deck::new((0..100).map(|kind| (kind % 2 == 0, 1)));
        let mut hundred = || (0..100).map(|_| deck.deal(&mut random)).collect::<Vec<_>>();
        assert_ne!(hundred(), hundred());
    }

    #[test]
    fn all_orders_of_a_small_deck_are_equally_likely() {
        let mut random = Uniform::for_thread(5, 0);
        let mut deck = Deck::new((0..4_usize).map(|kind| (kind, 1)));
        let mut counts = vec![0; 256];
        for _ in 0..24_000 {
            let order = (0..4).fold(0, |order, _| order * 4 + deck.deal(&mut random));
            counts[order] += 1;
        }
        counts.retain(|count| *count > 0);
        assert_eq!(counts.len(), 24, "every permutation and nothing else");
        let p = chi_square_p(&counts, &[1000.0; 24]);
        assert!(p > 1e-4, "{p}");
    }

    // proves: PTS-CBW-09
    #[test]
    fn the_composite_block_sizes_of_pts_13_come_out_per_thousand() {
        // 0.5 KiB 4 %, 1 to 3.5 KiB 1 % each, 4 KiB 67 %, 8 KiB 10 %, 16 KiB 7 %, 32 and 64 KiB 3 % each.
        let sizes =
            [4, 1, 1, 1, 1, 1, 1, 67, 10, 7, 3, 3].into_iter().enumerate().collect::<Vec<(usize, u32)>>();
        let mut random = Uniform::for_thread(9, 2);
        let mut deck = Deck::new(sizes.iter().copied());
        for _ in 0..10 {
            let mut counts = [0; 12];
            (0..100).for_each(|_| counts[deck.deal(&mut random)] += 1);
            assert!(sizes.iter().all(|(kind, weight)| counts[*kind] == *weight), "{counts:?}");
        }
    }

    proptest! {
        #[test]
        fn each_run_through_a_deck_holds_exactly_the_weights(
            weights in prop::collection::vec(0..50_u32, 1..20),
            factor in 1..1000_u32,
            seed: u64,
        ) {
            prop_assume!(weights.iter().any(|weight| *weight > 0));
            let scaled = || weights.iter().map(|weight| weight * factor);
            let cards = cards_of(scaled());
            let mut deck = Deck::new(scaled().enumerate());
            let mut random = Uniform::for_thread(seed, 0);
            for _ in 0..3 {
                let mut counts = vec![0_u64; weights.len()];
                (0..cards).for_each(|_| counts[deck.deal(&mut random)] += 1);
                let sum: u64 = weights.iter().copied().map(u64::from).sum();
                for (count, weight) in counts.iter().zip(&weights) {
                    prop_assert_eq!(count * sum, u64::from(*weight) * cards);
                }
            }
        }
    }
}

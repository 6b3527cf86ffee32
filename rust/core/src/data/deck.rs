//! A share that is exact over every hundred, in random order.

use crate::workload::Uniform;

const CARDS: usize = 100;

/// Deals `true` for a share of the cards. Each hundred holds exactly that many; a share that is no whole
/// per cent is rounded such that all hundreds so far are never more than half a card away from it.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    share_pct: f64,
    /// Hundreds so far, and cards of the share in them.
    hundreds: u64,
    dealt: u64,
    cards: [bool; CARDS],
    next: usize,
}

impl Deck {
    pub(super) fn new(share_pct: f64) -> Self {
        Self { share_pct, hundreds: 0, dealt: 0, cards: [false; CARDS], next: CARDS }
    }

    #[inline]
    pub(super) fn deal(&mut self, random: &mut Uniform) -> bool {
        if self.next == CARDS {
            self.shuffle(random);
        }
        self.next += 1;
        self.cards[self.next - 1]
    }

    fn shuffle(&mut self, random: &mut Uniform) {
        self.next = 0;
        self.hundreds += 1;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
        let due = (self.share_pct * self.hundreds as f64).round() as u64;
        let chosen = usize::try_from(due - self.dealt).expect("at most a hundred");
        self.dealt = due;
        for (card, value) in self.cards.iter_mut().enumerate() {
            *value = card < chosen;
        }
        if chosen == 0 || chosen == CARDS {
            return;
        }
        for last in (1..CARDS).rev() {
            let other = random.below(last as u64 + 1);
            self.cards.swap(last, usize::try_from(other).expect("less than a hundred"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hundreds(share_pct: f64, count: usize) -> Vec<usize> {
        let (mut deck, mut random) = (Deck::new(share_pct), Uniform::for_thread(1, 0));
        (0..count).map(|_| (0..CARDS).filter(|_| deck.deal(&mut random)).count()).collect()
    }

    #[test]
    fn every_hundred_holds_the_exact_share() {
        for whole in 0..=100 {
            assert!(hundreds(f64::from(whole), 20).iter().all(|count| *count == whole as usize));
        }
    }

    #[test]
    fn fractions_are_never_more_than_half_a_card_off() {
        for (share_pct, numerator, denominator) in [(12.5, 25, 2), (0.25, 1, 4), (100.0 / 3.0, 100, 3)] {
            let mut dealt = 0;
            for (index, count) in hundreds(share_pct, 1000).iter().enumerate() {
                dealt += count;
                let off = (dealt * denominator).abs_diff((index + 1) * numerator);
                assert!(2 * off <= denominator, "{share_pct}: {dealt} after {} hundreds", index + 1);
            }
        }
    }

    #[test]
    fn every_place_of_a_hundred_is_as_likely() {
        let (mut deck, mut random) = (Deck::new(30.0), Uniform::for_thread(1, 0));
        let mut at = [0_u32; CARDS];
        for _ in 0..10_000 {
            at.iter_mut().for_each(|count| *count += u32::from(deck.deal(&mut random)));
        }
        // Six standard deviations of a binomial of 10,000 and 0.3.
        assert!(at.iter().all(|count| count.abs_diff(3000) < 275), "{at:?}");
    }
}

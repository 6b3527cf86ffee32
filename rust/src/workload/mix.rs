//! The read/write mix, exact over every hundred I/Os and random in its order.

use super::random::Uniform;
use super::stream::Direction;

const DECK: usize = 100;

/// Deals directions like cards: a hundred with exactly the asked number of reads, shuffled anew when
/// they are used up. A coin thrown for each I/O would miss a 65/35 mix by some per cent in a short step.
#[derive(Debug)]
pub(super) struct Mix {
    deck: [Direction; DECK],
    next: usize,
}

impl Mix {
    pub(super) fn new(read_pct: u8) -> Self {
        let mut deck = [Direction::Write; DECK];
        deck[..usize::from(read_pct)].fill(Direction::Read);
        Self { deck, next: DECK }
    }

    #[inline]
    pub(super) fn deal(&mut self, random: &mut Uniform) -> Direction {
        if self.next == DECK {
            self.shuffle(random);
        }
        self.next += 1;
        self.deck[self.next - 1]
    }

    fn shuffle(&mut self, random: &mut Uniform) {
        self.next = 0;
        if self.deck[0] == self.deck[DECK - 1] && self.deck.iter().all(|card| *card == self.deck[0]) {
            return;
        }
        for last in (1..DECK).rev() {
            let chosen = random.below(last as u64 + 1);
            self.deck.swap(last, usize::try_from(chosen).expect("less than a hundred"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hundred_holds_the_exact_share_of_reads() {
        let mut random = Uniform::for_thread(1, 0);
        for read_pct in [0, 5, 35, 50, 65, 95, 100] {
            let mut mix = Mix::new(read_pct);
            for _ in 0..20 {
                let reads = (0..DECK).filter(|_| mix.deal(&mut random) == Direction::Read).count();
                assert_eq!(reads, usize::from(read_pct));
            }
        }
    }

    #[test]
    fn the_order_is_random() {
        let mut random = Uniform::for_thread(1, 0);
        let mut mix = Mix::new(50);
        let mut hundred = || (0..DECK).map(|_| mix.deal(&mut random)).collect::<Vec<_>>();
        assert_ne!(hundred(), hundred());
    }
}

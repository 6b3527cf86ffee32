//! Tests of 64-bit words.

use super::{Outcome, chi_square_p, fit_p};

pub fn battery(draws: u64, mut word: impl FnMut() -> u64) -> Vec<Outcome> {
    vec![
        ("ones at each of the 64 bits", each_bit(draws, &mut word)),
        ("values of each of the 8 bytes", each_byte(draws, &mut word)),
        ("numbers of ones in successive words", ones_of_pairs(draws, &mut word)),
        ("rank of 64 x 64 binary matrices", matrix_rank(draws, &mut word)),
        ("birthday spacings of the upper 32 bits", birthday_spacings(draws, || word() >> 32)),
        ("birthday spacings of the lower 32 bits", birthday_spacings(draws, || word() & 0xFFFF_FFFF)),
    ]
}

fn each_bit(draws: u64, word: &mut impl FnMut() -> u64) -> f64 {
    let mut ones = [0_u64; 64];
    for _ in 0..draws {
        let word = word();
        ones.iter_mut().enumerate().for_each(|(bit, ones)| *ones += word >> bit & 1);
    }
    let half = draws as f64 / 2.0;
    chi_square_p(ones.iter().map(|ones| (*ones as f64 - half).powi(2) / (half / 2.0)).sum(), 64.0)
}

fn each_byte(draws: u64, word: &mut impl FnMut() -> u64) -> f64 {
    let mut counts = vec![0_u64; 8 * 256];
    for _ in 0..draws {
        for (position, byte) in word().to_le_bytes().into_iter().enumerate() {
            counts[position * 256 + usize::from(byte)] += 1;
        }
    }
    let expected = draws as f64 / 256.0;
    let statistic = counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
    chi_square_p(statistic, 8.0 * 255.0)
}

/// Words with few, some and many ones, and which of them follow each other.
fn ones_of_pairs(draws: u64, word: &mut impl FnMut() -> u64) -> f64 {
    let class = |ones: u32| match ones {
        0..=29 => 0,
        30..=34 => 1,
        _ => 2,
    };
    let mut probability = [0.0; 3];
    let mut binomial = 0.5_f64.powi(64);
    for ones in 0..=64 {
        probability[class(ones)] += binomial;
        binomial *= f64::from(64 - ones) / f64::from(ones + 1);
    }
    let mut counts = [0; 9];
    for _ in 0..draws / 2 {
        counts[class(word().count_ones()) * 3 + class(word().count_ones())] += 1;
    }
    fit_p(&counts, |cell| probability[cell / 3] * probability[cell % 3])
}

fn matrix_rank(draws: u64, word: &mut impl FnMut() -> u64) -> f64 {
    // The share of ranks 64 - d among random matrices is 2^-(d^2) * prod (1 - 2^-i) over i > d, divided by
    // prod (1 - 2^-i) over i <= d, for all sizes that matter.
    let product = |range: std::ops::Range<i32>| range.map(|i| 1.0 - 0.5_f64.powi(i)).product::<f64>();
    let share = |d: i32| 0.5_f64.powi(d * d) * product(d + 1..60) / product(1..d + 1);
    let mut counts = [0; 3];
    for _ in 0..draws / 64 {
        let rank = rank_of(std::array::from_fn(|_| word()));
        counts[(64 - rank).min(2)] += 1;
    }
    fit_p(&counts, |cell| if cell < 2 { share(cell as i32) } else { 1.0 - share(0) - share(1) })
}

fn rank_of(mut rows: [u64; 64]) -> usize {
    let mut rank = 0;
    for bit in 0..64 {
        let Some(pivot) = (rank..64).find(|row| rows[*row] >> bit & 1 == 1) else { continue };
        rows.swap(rank, pivot);
        let pivot_row = rows[rank];
        rows[rank + 1..].iter_mut().filter(|row| **row >> bit & 1 == 1).for_each(|row| *row ^= pivot_row);
        rank += 1;
    }
    rank
}

/// Of 4096 birthdays in a year of 2^32 days, the spacings that occur more than once are nearly Poisson with
/// a mean of 4 (Marsaglia).
fn birthday_spacings(draws: u64, mut day: impl FnMut() -> u64) -> f64 {
    const MEAN: f64 = 4.0;
    let mut counts = [0_u64; 12];
    for _ in 0..draws / 4096 {
        let mut days: [u64; 4096] = std::array::from_fn(|_| day());
        days.sort_unstable();
        let mut spacings: Vec<u64> = days.windows(2).map(|pair| pair[1] - pair[0]).collect();
        spacings.sort_unstable();
        let repeated = spacings.windows(2).filter(|pair| pair[0] == pair[1]).count();
        counts[repeated.min(counts.len() - 1)] += 1;
    }
    let mut poisson = vec![(-MEAN).exp()];
    (1..counts.len()).for_each(|k| poisson.push(poisson[k - 1] * MEAN / k as f64));
    let below: f64 = poisson[..counts.len() - 1].iter().sum();
    fit_p(&counts, |cell| if cell + 1 < counts.len() { poisson[cell] } else { 1.0 - below })
}

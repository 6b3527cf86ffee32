//! Tests of offsets, as shares of the capacity from 0 to 1.

use microfft::real::rfft_8192;

use super::{Outcome, chi_square_p, fit_p};

pub fn battery(draws: u64, mut share: impl FnMut() -> f64) -> Vec<Outcome> {
    vec![
        ("values in 65536 cells", cells(draws, 1, 65_536, &mut share)),
        ("pairs in 1024 x 1024 cells", cells(draws, 2, 1024, &mut share)),
        ("triples in 64 x 64 x 64 cells", cells(draws, 3, 64, &mut share)),
        ("lengths of ascending runs", ascending_runs(draws, &mut share)),
        ("runs above and below the middle", middle_runs(draws, &mut share)),
        ("gaps between visits of the first eighth", gaps(draws, &mut share)),
        ("serial correlation at 40 lags up to 65536", serial_correlation(draws, &mut share)),
        ("lines of the spectrum", spectrum(draws, &mut share)),
    ]
}

/// Points of so many dimensions, in cells of a cube of `side`^dimensions.
fn cells(draws: u64, dimensions: u32, side: usize, share: &mut impl FnMut() -> f64) -> f64 {
    let mut counts = vec![0; side.pow(dimensions)];
    for _ in 0..draws / u64::from(dimensions) {
        let index = (0..dimensions).fold(0, |index, _| index * side + (share() * side as f64) as usize);
        counts[index] += 1;
    }
    let probability = 1.0 / counts.len() as f64;
    fit_p(&counts, |_| probability)
}

/// Of runs that each begin behind the end of another, 1/r! - 1/(r+1)! have a length of r (Knuth, "The Art
/// of Computer Programming" 2, 3.3.2 G, exercise 14).
fn ascending_runs(draws: u64, share: &mut impl FnMut() -> f64) -> f64 {
    let (mut counts, mut length, mut last) = ([0; 8], 0_usize, -1.0);
    for _ in 0..draws {
        let share = share();
        if share > last {
            (length, last) = (length + 1, share);
        } else {
            counts[(length - 1).min(7)] += 1;
            (length, last) = (0, -1.0);
        }
    }
    let one_in = [1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40_320.0, f64::INFINITY];
    fit_p(&counts, |cell| 1.0 / one_in[cell] - 1.0 / one_in[cell + 1])
}

/// Half of the values change from one half of the range to the other (Wald and Wolfowitz).
fn middle_runs(draws: u64, share: &mut impl FnMut() -> f64) -> f64 {
    let mut changes = 0_u64;
    let mut is_above = share() >= 0.5;
    for _ in 0..draws {
        let above = share() >= 0.5;
        changes += u64::from(above != is_above);
        is_above = above;
    }
    let half = draws as f64 / 2.0;
    chi_square_p((changes as f64 - half).powi(2) / (half / 2.0), 1.0)
}

fn gaps(draws: u64, share: &mut impl FnMut() -> f64) -> f64 {
    const VISIT: f64 = 0.125;
    let mut counts = [0; 60];
    let last = counts.len() - 1;
    let mut gap = 0;
    for _ in 0..draws {
        if share() < VISIT {
            counts[gap.min(last)] += 1;
            gap = 0;
        } else {
            gap += 1;
        }
    }
    let rest = |gap: usize| (1.0 - VISIT).powi(gap as i32);
    fit_p(&counts, |gap| if gap < last { rest(gap) * VISIT } else { rest(last) })
}

fn serial_correlation(draws: u64, share: &mut impl FnMut() -> f64) -> f64 {
    const BLOCK: usize = 1 << 18;
    let lags: Vec<usize> = (1..=32).chain([48, 64, 100, 128, 1000, 1024, 4096, 65_536]).collect();
    let blocks = draws as usize / BLOCK;
    let mut sums = vec![0.0; lags.len()];
    for _ in 0..blocks {
        let values: Vec<f64> = (0..BLOCK).map(|_| share() - 0.5).collect();
        for (lag, sum) in lags.iter().zip(&mut sums) {
            *sum += values.iter().zip(&values[*lag..]).map(|(a, b)| a * b).sum::<f64>();
        }
    }
    // A product of two independent values has a variance of 1/144.
    let squared = |(lag, sum): (&usize, &f64)| sum * sum * 144.0 / (blocks * (BLOCK - lag)) as f64;
    chi_square_p(lags.iter().zip(&sums).map(squared).sum(), lags.len() as f64)
}

/// Powers of each frequency, averaged over blocks: for white noise all are alike, and normal around the
/// variance of 1/12.
fn spectrum(draws: u64, share: &mut impl FnMut() -> f64) -> f64 {
    const LENGTH: usize = 1 << 13;
    let blocks = draws as usize / LENGTH;
    let mut sums = vec![0.0; LENGTH / 2];
    for _ in 0..blocks {
        let mut block = [0; LENGTH].map(|_| (share() - 0.5) as f32);
        let lines = rfft_8192(&mut block).iter();
        sums.iter_mut()
            .zip(lines)
            .for_each(|(sum, line)| *sum += f64::from(line.norm_sqr()) * 12.0 / LENGTH as f64);
    }
    let count = blocks as f64;
    let statistic: f64 = sums[1..].iter().map(|sum| (sum - count).powi(2) / count).sum();
    // The squares' own excess over normal ones, 6 / count, widens the sum: a normal limit says how far.
    let lines = sums.len() as f64 - 1.0;
    let deviations = (statistic - lines) / (lines * (2.0 + 6.0 / count)).sqrt();
    chi_square_p(deviations * deviations, 1.0)
}
